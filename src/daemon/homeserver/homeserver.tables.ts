/** The token of the platform's administrator in a box's chat server, sealed to the box. */
type HomeserverTokenTable = { box_id: string; sealed: string; updated_at: string }

declare module '../db/database.ts' {
  interface Tables {
    homeserver_tokens: HomeserverTokenTable
  }
}
