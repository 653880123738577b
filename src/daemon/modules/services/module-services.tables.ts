/** The service of a type B module, set by an operator. */
export type UpstreamTable = {
  module_id: string
  url: string
  /** The host of the URL: tenants consent to it. */
  host: string | null
  /** Signing secret, sealed to the row `module_id`. */
  sealed_secret: string
  /** Calls in a row without an answer. */
  failures: number
  /** No call of any installation before this time. */
  rest_until: string | null
  updated_at: string
}

declare module '../../db/database.ts' {
  interface Tables {
    module_upstreams: UpstreamTable
  }
}
