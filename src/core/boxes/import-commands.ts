import { z } from 'zod'
import { AddressedBox, VersionsReport } from './command-parts.ts'
import { Digest, ImageRef } from './images.ts'
import { DatabaseCopy, ImportDrops, ImportPlan } from './import-plan.ts'
import { ChatDomain, Service } from './names.ts'
import { ProbeResult, ProbeRule } from './probe.ts'

const Port = z.number().int().min(1).max(65_535)
const count = z.number().int().min(0)
const names = z.array(z.string().max(300)).max(500)
const versions = z.object({ synapse: z.string(), postgres: z.string() })

/** The foreign stack of an imported box. */
const Stack = z.object({ project: z.string(), containers: names, volumes: names })

/** Events and media of users since the import; null where the box does not answer. */
export const WrittenSince = z.object({ events: count, media: count, lastAt: z.string().nullable() }).nullable()
export type WrittenSince = z.infer<typeof WrittenSince>

/** The data taken from the foreign stack. */
export const ImportFacts = z.object({
  tables: count,
  rows: count,
  events: count,
  /** Media that share their blocks with the foreign stack's files, and those that were copied. */
  linkedFiles: count,
  copiedFiles: count,
  /** Media compared byte for byte. */
  comparedFiles: count,
  /** Missing where an older agent has imported the box. */
  databaseCopy: DatabaseCopy.optional(),
  /** From the stop of the foreign chat server until the box was open. */
  downtimeMs: z.number().min(0),
  /** Addresses of the stack that the box has taken over; empty: a reverse proxy must be pointed to the box. */
  addresses: names,
})
export type ImportFacts = z.infer<typeof ImportFacts>

/** The commands of an import. */
export const importCommands = {
  /** Plans the import of an observed stack by asking what runs. Changes nothing. */
  'tenant-box.survey_import': {
    payload: z.object({
      ...AddressedBox,
      chatDomain: ChatDomain,
      versions,
      drop: ImportDrops,
      images: z.record(Service, ImageRef).optional(),
    }),
    result: z.object({ plan: ImportPlan }),
    secrets: ['registries'],
  },
  /** Makes a box of the data of an observed stack and switches over, or returns to the stack. */
  'tenant-box.import': {
    payload: z.object({
      ...AddressedBox,
      chatDomain: ChatDomain,
      publicUrl: z.string(),
      versions,
      drop: ImportDrops,
      images: z.record(Service, ImageRef),
      digests: z.record(ImageRef, Digest).optional(),
      ports: z.object({ public: Port, platform: Port, probe: Port }),
      probe: ProbeRule,
      migrationsHead: z.string(),
      /** Counted from the start of the first step, on the agent's monotonic clock. */
      deadlineMs: z.number().int().min(1),
    }),
    result: z.object({ report: VersionsReport, probe: ProbeResult, facts: ImportFacts }),
    secrets: ['registries'],
  },
  /** Reads the loss of an undo and the objects that finishing removes. Changes nothing. */
  'tenant-box.import_state': {
    payload: z.object(AddressedBox),
    result: z.object({ importedAt: z.string(), written: WrittenSince, stack: Stack }),
    secrets: [],
  },
  /** Stops the box and starts the foreign stack as it was. */
  'tenant-box.undo_import': {
    payload: z.object(AddressedBox),
    result: z.object({ report: VersionsReport, written: WrittenSince }),
    secrets: [],
  },
  /** Removes the stopped containers of the foreign stack, and with `volumes` its volumes. */
  'tenant-box.finish_import': {
    payload: z.object({ ...AddressedBox, volumes: z.boolean() }),
    result: z.object({ removed: names }),
    secrets: [],
  },
} as const
