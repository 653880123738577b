type FolderTable = {
  id: string
  tenant_id: string
  space_id: string
  /** One of a name in a space. */
  name: string
  created_by: string
  created_at: string
}

/** `uploading`: its object may be there or not. `erasing`: nobody reads it any more, and its object may be gone. */
type FileState = 'uploading' | 'ready' | 'deleted' | 'erasing'

export type FileTable = {
  id: string
  tenant_id: string
  space_id: string
  folder_id: string | null
  name: string
  content_type: string
  /** What browsers may show it as. */
  shown_as: string | null
  /** While it is uploading: what is set aside for it. */
  bytes: number
  sha256: string | null
  state: FileState
  created_by: string
  created_at: string
  updated_at: string
  deleted_at: string | null
  /** From then on its object and then its row are taken away; null: it stays. */
  erase_at: string | null
}

type FileUsageTable = {
  tenant_id: string
  /** The sum of `bytes` of all its files, whatever their state. */
  bytes: number
}

declare module '../db/database.ts' {
  interface Tables {
    folders: FolderTable
    files: FileTable
    file_usage: FileUsageTable
  }
}
