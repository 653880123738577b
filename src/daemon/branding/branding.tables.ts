/** `uploading`: the object may exist or not. `erasing`: not shown any more, the object may be gone. */
type LogoState = 'uploading' | 'ready' | 'erasing'

type LogoTable = {
  id: string
  tenant_id: string
  state: LogoState
  content_type: string
  bytes: number
  width: number
  height: number
  /** Null: its object was not stored yet. */
  sha256: string | null
  created_at: string
  /** When object and row are erased; null: not due. */
  erase_at: string | null
}

declare module '../db/database.ts' {
  interface Tables {
    logos: LogoTable
  }
}
