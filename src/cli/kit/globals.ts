import type { Machine } from './terminal.ts'

/** Options that every command takes. */
export type Globals = Readonly<{
  url?: string
  json?: boolean
  output?: 'json' | 'yaml' | 'wide'
  columns?: readonly string[]
  quiet?: boolean
  verbose?: boolean
  yes?: boolean
  color: boolean
}>

/** The address that further commands must repeat: given as an option, and not what TENANTRY_URL says. */
export const addressToRepeat = ({ url }: Pick<Globals, 'url'>, env: Machine['env']): string | undefined =>
  url === undefined || url === env.TENANTRY_URL || !URL.canParse(url) ? undefined : url
