type SupportAccessTable = {
  tenant_id: string
  granted_by: string
  expires_at: string
}

declare module '../db/database.ts' {
  interface Tables {
    support_access: SupportAccessTable
  }
}
