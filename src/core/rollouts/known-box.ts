import type { InstalledVersions, ProbeResult, SynapseSchemas, Tier, VersionsReport } from '../boxes/index.ts'
import type { ZonedWindow } from '../wall-clock/index.ts'

/** A box as the registry and its last report describe it. */
export type KnownBox = Readonly<{
  slug: string
  boxId: string
  ownershipEpoch: number
  hostId: string
  hostName: string
  hostOnline: boolean
  /** The protocol of its host's agent, as it reported; null until it does. */
  protocolVersion: number | null
  /** The host's clock minus the daemon's. */
  clockOffsetMs: number | null
  tier: Tier
  managed: boolean
  /** Completed in the files of its former owner by an earlier version. */
  inPlace: boolean
  canary: boolean
  databaseBytes: number | null
  installed: InstalledVersions
  report: VersionsReport | null
  reportedAt: string | null
  /** The last probe of any command. */
  probe: ProbeResult | null
  /** The last rehearsal of an upgrade to another major version of PostgreSQL; null without one. */
  rehearsal: KnownRehearsal | null
  /** Its maintenance window; null: any time. */
  window: ZonedWindow | null
  /** The owner of its hold; null without one. */
  heldBy: string | null
}>

type KnownRehearsal = Readonly<{
  at: string
  ok: boolean
  image: string
  digest: string | null
  /** Dump, load, ANALYZE and comparison took this long; null unless it was good. */
  downtimeMs: number | null
}>

/** A preflight compares a box with these facts. */
export type Limits = Readonly<{
  now: string
  staleAfterMs: number
  schemas: SynapseSchemas
  /** The image of PostgreSQL that the box would get, and the age of a rehearsal that counts; absent: no other major version is allowed. */
  upgrade?: Readonly<{ image: string | undefined; maxAgeMs: number }>
}>
