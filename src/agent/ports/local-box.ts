import type { Project } from './container-engine.ts'

/** A box as its own host knows it, kept in the agent's folder: enough to work while the daemon is away. */
export type LocalBox = Readonly<{
  slug: string
  boxId: string
  /** Rises when the box gets another owner; a command with a lower one is refused. */
  ownershipEpoch: number
  /** Only a managed box (edge with probe listener, probe user, literal image tags) is ever updated. */
  managed: boolean
  chatDomain: string
  project: Project
  /** Loopback ports of the edge's listeners; null for a box that is only observed. */
  ports: Readonly<{ public: number; platform: number; probe: number }> | null
  /** `0000` until a box migration was applied. */
  migrationsHead: string
  /** Another host has this box or may have it: it rests fenced and stopped here. `holder` is what its fence says. */
  handedOver?: Readonly<{ at: string; holder: string }>
}>
