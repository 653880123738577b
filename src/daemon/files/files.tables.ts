type FolderTable = {
  id: string
  tenant_id: string
  space_id: string
  /** Unique in a space. */
  name: string
  created_by: string
  created_at: string
}

/** `uploading`: the object may exist or not. `erasing`: not readable any more, the object may be gone. */
type FileState = 'uploading' | 'ready' | 'deleted' | 'erasing'

export type FileTable = {
  id: string
  /** The object that has the bytes, if it is not named as the file: each attempt to store a file of the platform writes one of its own. */
  object_id: string | null
  tenant_id: string
  space_id: string
  folder_id: string | null
  name: string
  content_type: string
  /** The type browsers may display inline; null: download only. */
  shown_as: string | null
  /** While uploading: the reserved bytes. */
  bytes: number
  sha256: string | null
  state: FileState
  created_by: string
  created_at: string
  updated_at: string
  deleted_at: string | null
  /** When object and row are erased; null: not due. */
  erase_at: string | null
}

type FileUsageTable = {
  tenant_id: string
  /** The sum of `bytes` of all files of the tenant, in any state. */
  bytes: number
}

declare module '../db/database.ts' {
  interface Tables {
    folders: FolderTable
    files: FileTable
    file_usage: FileUsageTable
  }
}
