import type { Service } from '../../core/boxes/index.ts'
import { problem } from '../../core/kit/index.ts'
import { assertCounted } from '../backup/index.ts'
import type { BoxServers, ContainerEngine, ContainerMount, LocalBox, RowCounts } from '../ports/index.ts'

type Stack = Readonly<{ deps: Readonly<{ engine: ContainerEngine; servers: BoxServers }>; box: LocalBox }>

/** Mounts of the running containers by service. */
type Mounts = Readonly<Partial<Record<Service, readonly ContainerMount[]>>>

/** Where the data of a stack are before its containers are recreated. `database` is the chat server's. */
export type DataPlace = Readonly<{ database: string; mounts: Mounts }>

export async function mountsNow({ deps, box }: Stack): Promise<Mounts> {
  return Object.fromEntries((await deps.engine.containers(box.project)).map(({ service, mounts }) => [service, mounts]))
}

/** Stops the chat server, so that nothing writes to the database. */
export async function countQuietRows({ deps, box }: Stack, { database }: DataPlace, signal: AbortSignal): Promise<RowCounts> {
  await deps.engine.stop(box.project, ['synapse'])
  const rows = await deps.servers.countRows(box, database, signal)
  assertCounted(rows, { code: 'BOX_UNHEALTHY', what: `The database ${database} of ${box.slug}` })
  return rows
}

type Former = Readonly<{ place: DataPlace; rows: RowCounts }>

/** To be called before the chat server starts, which would create its tables in an empty database. Throws BOX_UNHEALTHY. */
export async function assertSameRows(stack: Stack, { place, rows }: Former, signal: AbortSignal): Promise<void> {
  await assertSameVolumes(stack, { postgres: place.mounts.postgres ?? [] })
  const now = await stack.deps.servers.countRows(stack.box, place.database, signal)
  // After a kill the chat server may have run in between, so more rows are fine.
  const lost = Object.entries(rows).filter(([table, count]) => (now[table] ?? -1) < count)
  if (lost.length === 0) return
  const list = lost.slice(0, 5).map(([table, count]) => `${table} has ${now[table] ?? 'no'} rows instead of ${count}`)
  throw problem('BOX_UNHEALTHY', `The database of ${stack.box.slug} lost rows when it was recreated: ${list.join('; ')}`)
}

/** Each volume is still mounted at its place. Throws BOX_UNHEALTHY. */
export async function assertSameVolumes(stack: Stack, { edge: _, ...before }: Mounts): Promise<void> {
  const now = await mountsNow(stack)
  for (const [service, mounts] of Object.entries(before)) {
    const present = now[service as Service] ?? []
    const isLost = ({ kind, source, target }: ContainerMount) =>
      kind === 'volume' && !present.some((mount) => mount.source === source && mount.target === target)
    const lost = mounts.find(isLost)
    if (lost) throw problem('BOX_UNHEALTHY', `${service} of ${stack.box.slug} no longer mounts volume ${lost.source} at ${lost.target}`)
  }
}
