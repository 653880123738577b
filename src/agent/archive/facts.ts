import { lstat, readFile } from 'node:fs/promises'
import { join, relative } from 'node:path'
import { z } from 'zod'
import { Digest, ImageRef, InstalledVersions } from '../../core/boxes/index.ts'
import { problem } from '../../core/kit/index.ts'
import { writeFileAtomic } from '../../node/index.ts'
import { type DataFolder, dataFolders } from '../backup/index.ts'
import { reportVersions } from '../boxes/index.ts'
import type { BoxServers, ContainerEngine, LocalBox } from '../ports/index.ts'
import { dataFolderIn } from '../update/index.ts'

/** Variables by which the image finds its data, and the agent its role and database. None is a secret. */
const variables = ['PGDATA', 'POSTGRES_USER', 'POSTGRES_DB', 'TENANTRY_DATABASE'] as const

const PlainText = z.string().regex(/^[\w./-]{0,200}$/)

/** The facts of a box that a recovery needs on any host. It may be of a host that is compromised: images are checked against the allowed ones. */
const ArchiveFacts = z.object({
  format: z.literal(1),
  slug: PlainText,
  boxId: PlainText,
  images: z.record(z.string(), z.object({ image: z.string(), digest: Digest.nullable() })),
  installed: InstalledVersions,
  migrationsHead: z.string(),
  box: z.object({
    chatDomain: z.string(),
    ports: z.object({ public: z.number(), platform: z.number(), probe: z.number() }).nullable(),
    project: z.string(),
    composeFile: z.string(),
    envFile: z.string().exactOptional(),
    managed: z.boolean(),
    ownershipEpoch: z.number(),
  }),
  /** By these paths the parts are found in the snapshots. */
  paths: z.object({
    boxFolder: z.string(),
    data: z.array(z.object({ service: z.enum(['synapse', 'minio']), key: z.string().nullable(), volume: z.string(), folder: z.string() })),
    /** The data folder of PostgreSQL. */
    database: z.string(),
  }),
  postgres: z.object({
    image: ImageRef,
    environment: z.partialRecord(z.enum(variables), PlainText),
    /** Where its volume is mounted, and the data folder in it. */
    target: PlainText,
    inside: PlainText.refine((path) => !path.startsWith('/') && !path.split('/').includes('..'), 'must be below its volume'),
    owner: z.object({ uid: z.number().int(), gid: z.number().int(), mode: z.number().int() }),
  }),
})
export type ArchiveFacts = z.infer<typeof ArchiveFacts>

type Deps = Readonly<{ engine: ContainerEngine; servers: BoxServers; clock: Parameters<typeof reportVersions>[0]['clock'] }>

/** Describes a box whose database runs, with the volume of the database. Throws SNAPSHOT_FAILED, CONFLICT. */
export async function describeBox(
  deps: Deps,
  box: LocalBox,
  systemId: string,
): Promise<Readonly<{ facts: ArchiveFacts; volume: string; data: readonly DataFolder[] }>> {
  const { engine } = deps
  const [report, data, containers] = await Promise.all([
    reportVersions(deps, box),
    dataFolders(engine, box),
    engine.containers(box.project),
  ])
  const postgres = containers.find(({ service }) => service === 'postgres')
  const mount = postgres?.mounts.find(({ kind }) => kind === 'volume')
  const root = mount && (await engine.volumePath(mount.source))
  if (!postgres || !mount || root === undefined)
    throw problem('SNAPSHOT_FAILED', `the database of ${box.slug} has no named volume on this host`)
  const database = await dataFolderIn(root, systemId)
  const { uid, gid, mode } = await lstat(database)
  const images = Object.entries(report.services).map(([service, { image, digest }]) => [service, { image, digest }])
  const { slug, boxId, chatDomain, ports, managed, ownershipEpoch, project } = box
  const { name, composeFile, envFile } = project
  const facts: ArchiveFacts = {
    ...{ format: 1, slug, boxId, images: Object.fromEntries(images), installed: report.installed },
    migrationsHead: report.installed.migrationsHead === 'unknown' ? box.migrationsHead : report.installed.migrationsHead,
    box: { chatDomain, ports, project: name, composeFile, ...(envFile === undefined ? {} : { envFile }), managed, ownershipEpoch },
    paths: { boxFolder: project.folder, data: [...data], database },
    postgres: {
      image: postgres.image,
      environment: await variablesOf(engine, postgres.id),
      target: mount.target,
      inside: relative(root, database),
      owner: { uid, gid, mode: mode & 0o7777 },
    },
  }
  return { facts, volume: mount.source, data }
}

async function variablesOf(engine: ContainerEngine, id: string): Promise<ArchiveFacts['postgres']['environment']> {
  const read = async (name: string) => {
    const { exitCode, stdout } = await engine.exec(id, ['printenv', name])
    return exitCode === 0 ? [[name, stdout.trim()]] : []
  }
  return Object.fromEntries((await Promise.all(variables.map(read))).flat())
}

const fileName = 'facts.json'

export const writeFacts = (folder: string, facts: ArchiveFacts): Promise<void> =>
  writeFileAtomic(join(folder, fileName), `${JSON.stringify(facts)}\n`)

/** Throws RESTORE_FAILED. */
export async function readFacts(folder: string): Promise<ArchiveFacts> {
  try {
    return ArchiveFacts.parse(JSON.parse(await readFile(join(folder, fileName), 'utf8')))
  } catch (cause) {
    throw problem('RESTORE_FAILED', 'the archive does not describe its box', { cause })
  }
}
