type FolderTable = {
  id: string
  tenant_id: string
  space_id: string
  /** One of a name in a space. */
  name: string
  created_by: string
  created_at: string
}

declare module '../db/database.ts' {
  interface Tables {
    folders: FolderTable
  }
}
