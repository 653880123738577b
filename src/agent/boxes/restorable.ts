import { Service } from '../../core/boxes/index.ts'
import { isProblem, problem } from '../../core/kit/index.ts'
import type { ContainerEngine, LocalBox } from '../ports/index.ts'
import { type ComposeFacts, composeFacts, resolvedCompose } from './compose-file.ts'
import { environmentValue, mountOf, mountsOf, recordOf } from './mounts.ts'
import { rewriteImages } from './rewrite-compose.ts'
import { lineOfVolume, rewriteVolumes } from './rewrite-volumes.ts'

type Deps = Readonly<{ engine: Pick<ContainerEngine, 'resolveCompose'> }>

/** The facts of a box's compose file as compose resolves it: the real name of each volume, whatever form it is written in. */
export const resolvedFacts = async ({ engine }: Deps, { project }: LocalBox, text: string): Promise<ComposeFacts> =>
  composeFacts(await engine.resolveCompose(project, text), project.name)

/**
 * Throws NOT_RESTORABLE for a compose file under which no restore could put other volumes. Renders what a rollback and a restore would write,
 * has compose read both, and compares the volumes of each service.
 */
export async function assertRestorable(deps: Deps, box: LocalBox, text: string): Promise<void> {
  const reason = await reasonNotRestorable(deps, box, text)
  if (reason !== undefined) throw problem('NOT_RESTORABLE', `${box.slug} could not be restored after an update: ${reason}`)
}

/**
 * Why no restore could put other volumes or images under a box; undefined if it could. The images of an observed box are not checked. Throws DOCKER_UNAVAILABLE.
 */
export async function reasonNotRestorable(
  { engine }: Deps,
  { project, managed }: Pick<LocalBox, 'project' | 'managed'>,
  text: string,
): Promise<string | undefined> {
  try {
    const whole = await engine.resolveCompose(project, text)
    const hidden = hiddenService(whole, text)
    if (hidden !== undefined) return hidden
    const facts = composeFacts(whole, project.name)
    const images = Object.entries(facts.services).map(([service, { image }]) => [service, image])
    const restored = managed ? rewriteImages(text, Object.fromEntries(images)) : text
    const keys = dataKeys(whole, facts)
    if (typeof keys === 'string') return keys
    const fixed = keys.all.map((key) => fixedVolume(whole, text, key)).find((reason) => reason !== undefined)
    const bound = fixed ?? boundMount(whole) ?? outsideLog(whole, keys.database)
    if (bound !== undefined) return bound
    // A rollback replaces the volume of the database, a restore all of them.
    for (const [file, some] of [
      [text, [keys.database]],
      [restored, keys.all],
    ] as const) {
      const names = Object.fromEntries(some.map((key) => [key, `${project.name}-candidate-${key}`]))
      const rendered = await engine.resolveCompose(project, rewriteVolumes(file, names))
      const wrong = differingService(whole, rendered, names)
      if (wrong !== undefined)
        return `compose would not mount the restored volumes of ${wrong}. fix: write its volumes out in the compose file`
    }
    return undefined
  } catch (error) {
    if (isProblem(error, 'COMPOSE_INVALID')) return error.message
    throw error
  }
}

/** A service that the file defines and compose leaves out: its container would keep the former volume. */
function hiddenService(whole: Readonly<Record<string, unknown>>, text: string): string | undefined {
  const defined = recordOf(resolvedCompose(text).services)
  const hidden = Object.keys(defined).find((name) => Service.safeParse(name).success && !Object.hasOwn(recordOf(whole.services), name))
  return hidden && `compose does not start ${hidden} by default. fix: remove profiles from it in the compose file`
}

type DataKeys = Readonly<{ database: string; all: readonly string[] }>

/** The keys of all volumes with data of the box, or why they cannot be replaced. */
function dataKeys(whole: Readonly<Record<string, unknown>>, { database }: ComposeFacts): DataKeys | string {
  const services = recordOf(whole.services)
  if (!database) return `the compose file has no named volume for the data of PostgreSQL. fix: move the data to a named volume`
  const others = (['synapse', 'minio'] as const).flatMap((name) =>
    mountsOf(recordOf(services[name])).flatMap(({ kind, source }) => (kind === 'volume' && source !== '' ? [source] : [])),
  )
  return { database: database.key, all: [...new Set([database.key, ...others])] }
}

/** A volume that exists once: a second one beside it would hold the same data, or could not be made. */
function fixedVolume(whole: Readonly<Record<string, unknown>>, text: string, key: string): string | undefined {
  const { external, driver = 'local', driver_opts: options } = recordOf(recordOf(whole.volumes)[key])
  const what = external
    ? 'is external. fix: remove `external` and keep its name'
    : driver !== 'local'
      ? `uses the driver ${String(driver)}. fix: use the driver local`
      : Object.keys(recordOf(options)).length > 0
        ? 'has driver_opts, which bind it to one place. fix: use a volume without driver_opts'
        : undefined
  if (what === undefined) return undefined
  const line = lineOfVolume(text, key)
  return `the volume ${key}${line === undefined ? '' : ` (line ${line} of the compose file)`} ${what}`
}

/** A new volume has no folders yet. */
function boundMount({ services }: Readonly<Record<string, unknown>>): string | undefined {
  const name = (['postgres', 'synapse', 'minio'] as const).find((service) => {
    const { volumes } = recordOf(recordOf(services)[service])
    return Array.isArray(volumes) && volumes.some((mount) => recordOf(recordOf(mount).volume).subpath !== undefined)
  })
  return name && `${name} mounts a subpath of a volume, which a new volume does not have. fix: mount the whole volume`
}

/** A log in another volume still belongs to the former database. */
function outsideLog({ services }: Readonly<Record<string, unknown>>, database: string): string | undefined {
  const postgres = recordOf(recordOf(services).postgres)
  const folder = environmentValue(postgres, 'POSTGRES_INITDB_WALDIR')
  if (folder === undefined || mountOf(mountsOf(postgres), folder)?.source === database) return undefined
  return `PostgreSQL has its write-ahead log outside its data volume (POSTGRES_INITDB_WALDIR=${folder}). fix: move it into the data volume`
}

/** The first service that would not mount exactly what it mounts now, under the new names. */
function differingService(
  whole: Readonly<Record<string, unknown>>,
  rendered: Readonly<Record<string, unknown>>,
  names: Readonly<Record<string, string>>,
): string | undefined {
  const volumes = realNames(whole)
  const requested = { ...volumes, ...names }
  const services = new Set([...Object.keys(recordOf(whole.services)), ...Object.keys(recordOf(rendered.services))])
  return [...services].find((name) => mountText(whole, name, requested) !== mountText(rendered, name, realNames(rendered)))
}

const realNames = (whole: Readonly<Record<string, unknown>>): Record<string, unknown> =>
  Object.fromEntries(Object.entries(recordOf(whole.volumes)).map(([key, volume]) => [key, recordOf(volume).name]))

const mountText = (whole: Readonly<Record<string, unknown>>, service: string, names: Readonly<Record<string, unknown>>): string =>
  JSON.stringify(
    mountsOf(recordOf(recordOf(whole.services)[service])).map(({ kind, source, target }) => [
      target,
      kind === 'volume' ? names[source] : source,
    ]),
  )
