import type { InstalledVersions, ProbeResult, SynapseSchemas, Tier, VersionsReport } from '../boxes/index.ts'
import type { ZonedWindow } from '../wall-clock/index.ts'

/** A box as the registry and its last report know it. */
export type KnownBox = Readonly<{
  slug: string
  boxId: string
  ownershipEpoch: number
  hostId: string
  hostName: string
  hostOnline: boolean
  /** Of its host, as the agent told them; null where it never did. */
  agentVersion: string | null
  protocolVersion: number | null
  /** The host's clock minus the daemon's. */
  clockOffsetMs: number | null
  tier: Tier
  managed: boolean
  canary: boolean
  databaseBytes: number | null
  installed: InstalledVersions
  report: VersionsReport | null
  reportedAt: string | null
  /** The last one, whoever asked for it. */
  probe: ProbeResult | null
  /** When its tenant may be disturbed; null: at any time. */
  window: ZonedWindow | null
  /** Who holds it, if anybody does. */
  heldBy: string | null
}>

/** What boxes are measured by. */
export type Limits = Readonly<{
  now: string
  staleAfterMs: number
  schemas: SynapseSchemas
  /** An agent of an older version still works, but may not know what this daemon would ask of it. */
  daemonVersion: string
}>
