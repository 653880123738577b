import { type BoxCommandKind, boxCommands, type CommandSecrets } from '../../core/boxes/index.ts'
import type { KnownMirrors } from '../boxes/index.ts'
import type { CommandContext, CommandExecutors, ContainerEngine, PullOptions } from '../ports/index.ts'

type AnyExecutor = (context: CommandContext, payload: never) => Promise<unknown>

/**
 * Registry mirrors and credentials belong to the host, so any running command that may fetch them does so when something is pulled. They stay
 * in memory for the duration of that command.
 */
export type RegistryAccess = Readonly<{
  /** Wraps the engine to use the host's mirrors and credentials. Throws the daemon's error when they cannot be fetched. */
  pulling(engine: ContainerEngine): ContainerEngine
  /** Wraps the executors whose kind may fetch registry secrets as sources of them. */
  offering(executors: CommandExecutors): CommandExecutors
}>

export function registryAccess(mirrors: Pick<KnownMirrors, 'record'>): RegistryAccess {
  const sources = new Set<() => Promise<CommandSecrets>>()
  const offering = (kind: BoxCommandKind, execute: AnyExecutor): AnyExecutor => {
    const wanted: readonly string[] = boxCommands[kind].secrets
    if (!wanted.includes('registries')) return execute
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
  const withRegistries = async <Options extends object>(options: Options) => {
    const { registries } = await firstOf([...sources].reverse())
    return registries ? { ...options, registries } : options
  }
  return {
    pulling: (engine) => ({
      ...engine,
      pull: async (image, options) => {
        const wanted = await withRegistries<PullOptions>(options)
        // An unrecorded mirror only delays image removal.
        if (wanted.registries) await mirrors.record(wanted.registries).catch(() => undefined)
        return engine.pull(image, wanted)
      },
      resolve: async (image, options) => engine.resolve(image, await withRegistries(options)),
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
