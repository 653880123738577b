import type { EngineAction, EngineCommand, KnownBox } from '../../src/core/rollouts/index.ts'
import { aReport } from './boxes.ts'

const installed = { migrationsHead: '0000', postgres: '17.6', synapse: '1.157.1', minio: 'RELEASE.2025-09-07T16-13-09Z' }

/** A healthy managed Light box that has just reported. */
export const aKnownBox = (slug: string, changes: Partial<KnownBox> = {}): KnownBox => ({
  slug,
  boxId: `box_${slug}`,
  ownershipEpoch: 1,
  hostId: `hst_of_${slug}`,
  hostName: `host-of-${slug}`,
  hostOnline: true,
  protocolVersion: 1,
  clockOffsetMs: 0,
  tier: 'free',
  managed: true,
  inPlace: false,
  canary: false,
  databaseBytes: null,
  installed: { ...installed, ...changes.installed },
  report: aReport(slug),
  reportedAt: '2026-01-05T02:00:00.000Z',
  probe: null,
  rehearsal: null,
  window: null,
  heldBy: null,
  ...changes,
})

export const anEngineAction = (slug: string, changes: Partial<EngineAction> = {}): EngineAction => ({
  slug,
  hostId: `hst_of_${slug}`,
  hostName: `host-of-${slug}`,
  held: null,
  expectedMs: 240_000,
  phase: 'canary',
  status: 'pending',
  waived: false,
  rollback: null,
  finishedAt: null,
  step: null,
  commandId: null,
  overdue: false,
  progress: null,
  error: null,
  ...changes,
})

export const anEngineCommand = (id: string, changes: Partial<EngineCommand> = {}): EngineCommand => ({
  id,
  status: 'queued',
  taken: false,
  result: null,
  error: null,
  progress: [],
  ...changes,
})
