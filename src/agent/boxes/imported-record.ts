import { z } from 'zod'

// The return path of an imported box, as its record stores it. It has no secrets.

const Containers = z.array(z.object({ id: z.string(), name: z.string(), alwaysRestarts: z.boolean() }))

const ForeignStackRecord = z.object({
  project: z.string(),
  last: Containers,
  stopped: Containers,
  database: z.object({
    ...{ container: z.string(), database: z.string(), role: z.string(), port: z.number(), isLocal: z.boolean() },
    otherSchemas: z.array(z.string()),
    hasExtensions: z.boolean().default(false),
  }),
  media: z.array(z.object({ from: z.string(), inside: z.string() })),
  objects: z.string().nullable(),
  addresses: z.array(z.object({ address: z.string(), port: z.number() })),
})

export const BoxPortsRecord = z.object({ public: z.number(), platform: z.number(), probe: z.number() })

export const ProjectRecord = z.object({
  name: z.string(),
  folder: z.string(),
  composeFile: z.string(),
  envFile: z.string().exactOptional(),
})

export const ImportedRecord = z.object({
  at: z.string(),
  commandId: z.string(),
  mark: z.object({ position: z.number(), lastEvents: z.array(z.string()) }),
  stack: ForeignStackRecord,
  observed: z.object({
    ...{ chatDomain: z.string(), project: ProjectRecord },
    managed: z.boolean().default(false),
    ports: BoxPortsRecord.nullable().default(null),
  }),
})
