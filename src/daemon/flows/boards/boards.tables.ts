export type BoardTable = {
  id: string
  tenant_id: string
  space_id: string | null
  name: string
  description: string
  status: 'draft' | 'active' | 'archived'
  /** The last saved version. */
  version: number
  published_version: number | null
  /** The space of the published version; runs are in it. */
  published_space_id: string | null
  created_by: string | null
  created_at: string
  updated_at: string
}

type BoardVersionTable = {
  tenant_id: string
  board_id: string
  version: number
  /** JSON of a `BoardDefinition`. */
  definition: string
  /** The length of `definition`. */
  characters: number
  saved_by: string | null
  saved_at: string
}

declare module '../../db/database.ts' {
  interface Tables {
    boards: BoardTable
    board_versions: BoardVersionTable
  }
}
