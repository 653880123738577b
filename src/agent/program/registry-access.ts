import { type BoxCommandKind, boxCommands, type CommandSecrets, parseImage, registryOf } from '../../core/boxes/index.ts'
import { isProblem, problem } from '../../core/kit/index.ts'
import type { KnownMirrors } from '../boxes/index.ts'
import type { CommandContext, CommandExecutors, ContainerEngine, PullOptions } from '../ports/index.ts'

type AnyExecutor = (context: CommandContext, payload: never) => Promise<unknown>

/**
 * Registry mirrors and credentials belong to the host, so any running command that may fetch them does so when something is pulled. They stay
 * in memory for the duration of that command.
 */
export type RegistryAccess = Readonly<{
  /** Wraps the engine to use the host's credentials, and its mirrors as far as the agent's settings allow them. Throws the daemon's error when they cannot be fetched. */
  pulling(engine: ContainerEngine): ContainerEngine
  /** Wraps the executors whose kind may fetch registry secrets as sources of them. */
  offering(executors: CommandExecutors): CommandExecutors
}>

type Registries = NonNullable<CommandSecrets['registries']>

/** `allowedMirrors`: entries `registry=mirror` of the agent's settings. */
type MirrorDeps = Readonly<{ mirrors: Pick<KnownMirrors, 'record'>; allowedMirrors: readonly string[] }>

export function registryAccess({ mirrors, allowedMirrors }: MirrorDeps): RegistryAccess {
  const sources = new Set<() => Promise<CommandSecrets>>()
  const offering = (kind: BoxCommandKind, execute: AnyExecutor): AnyExecutor => {
    const requested: readonly string[] = boxCommands[kind].secrets
    if (!requested.includes('registries')) return execute
    return async (context, payload) => {
      let fetched: Promise<CommandSecrets> | undefined
      const source = () => {
        fetched ??= context.secrets().catch((error) => {
          fetched = undefined // the next pull asks again
          throw error
        })
        return fetched
      }
      sources.add(source)
      try {
        return await execute(context, payload)
      } finally {
        sources.delete(source)
      }
    }
  }
  const pullWith = async <Options extends object, Answer>(
    image: string,
    options: Options,
    call: (options: Options & Pick<PullOptions, 'registries'>) => Promise<Answer>,
  ): Promise<Answer> => {
    const { registries } = await firstOf([...sources].reverse())
    if (!registries) return call(options)
    const usable = withAllowedMirrors(allowedMirrors, registries)
    // An unrecorded mirror only delays image removal.
    await mirrors.record(usable).catch(() => undefined)
    return call({ ...options, registries: usable }).catch((error) => {
      throw namingMirror(error, unusedMirror({ image, registries, usable }))
    })
  }
  return {
    pulling: (engine) => ({
      ...engine,
      pull: (image, options) => pullWith(image, options, (access) => engine.pull(image, access)),
      resolve: (image, options) => pullWith(image, options, (access) => engine.resolve(image, access)),
      misfit: (image, options) => pullWith(image, options, (access) => engine.misfit(image, access)),
    }),
    offering: (executors) =>
      Object.fromEntries(
        Object.entries(executors).map(([kind, execute]) => [kind, offering(kind as BoxCommandKind, execute as AnyExecutor)]),
      ) as CommandExecutors,
  }
}

/** Tries all sources: a command that lost its lease must not block a pull of another one. */
async function firstOf(sources: readonly (() => Promise<CommandSecrets>)[]): Promise<CommandSecrets> {
  let failure: unknown
  for (const source of sources) {
    try {
      return await source()
    } catch (error) {
      failure ??= error
    }
  }
  if (failure) throw failure
  return {}
}

/**
 * Leaves out mirrors that the agent's settings do not allow for their registry. A mirror decides the content of an allowed name, so a
 * compromised daemon could otherwise run any image. The registry is part of an entry: a mirror of Docker Hub has images that anyone named.
 */
const withAllowedMirrors = (allowed: readonly string[], registries: Registries): Registries =>
  Object.fromEntries(
    Object.entries(registries).map(([registry, { mirror, ...account }]) => [
      registry,
      mirror !== undefined && allowed.includes(`${registry}=${mirror}`) ? { mirror, ...account } : account,
    ]),
  )

type Access = Readonly<{ image: string; registries: Registries; usable: Registries }>

/** The mirror that the daemon sets for the image and that is not used, as an entry of the settings. */
function unusedMirror({ image, registries, usable }: Access): string | undefined {
  const { registry } = registryOf(parseImage(image).repository)
  const set = Object.hasOwn(registries, registry) ? registries[registry]?.mirror : undefined
  return set === undefined || usable[registry]?.mirror === set ? undefined : `${registry}=${set}`
}

function namingMirror(error: unknown, unused: string | undefined): unknown {
  if (unused === undefined || !isProblem(error)) return error
  const reason = `its mirror is not allowed on this host. fix: add ${unused} to "mirrors" in the agent's settings`
  return problem(error.code, `${error.message}; ${reason}`, { cause: error })
}
