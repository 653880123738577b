/** The token of the platform's administrator in a box's chat server, sealed to the box. */
type HomeserverTokenTable = { box_id: string; sealed: string; updated_at: string }

/** Where the platform listeners of a host's boxes are, when that is not loopback. */
type PlatformAddressTable = { host_id: string; address: string; updated_at: string; updated_by: string }

declare module '../db/database.ts' {
  interface Tables {
    homeserver_tokens: HomeserverTokenTable
    platform_addresses: PlatformAddressTable
  }
}
