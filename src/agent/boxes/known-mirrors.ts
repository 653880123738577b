import { join } from 'node:path'
import { z } from 'zod'
import type { CommandSecrets } from '../../core/boxes/index.ts'
import { asJson } from '../../core/kit/index.ts'
import { readIfThere, writeFileAtomic } from '../../node/index.ts'
import { fullName } from './image-allow-list.ts'

/** Which registry a mirror, such as `mirror.example:5000/hub`, stands for. */
const Mirrors = z.record(z.string(), z.string())

/**
 * The mirrors that this host has ever asked. An engine keeps a mirror's name on what came from there, also when the tag that was asked for
 * has moved on; and the daemon, which says the mirrors, may be away or have others by then.
 */
export type KnownMirrors = Readonly<{
  note(registries: NonNullable<CommandSecrets['registries']>): Promise<void>
  /** What says by which name of its own registry an image would be asked for; a name of no mirror stays, as every engine would write it. */
  originNames(): Promise<(name: string) => string>
}>

export function knownMirrors(stateFolder: string): KnownMirrors {
  const file = join(stateFolder, 'mirrors.json')
  const read = async () => Mirrors.safeParse(asJson((await readIfThere(file)) ?? '')).data ?? {}
  const add = async (named: Readonly<Record<string, string>>) => {
    const known = await read()
    if (Object.entries(named).every(([mirror, registry]) => known[mirror] === registry)) return
    await writeFileAtomic(file, `${JSON.stringify({ ...known, ...named }, null, 2)}\n`)
  }
  let last: Promise<unknown> = Promise.resolve()
  return {
    note: (registries) => {
      const named = Object.entries(registries).flatMap(([registry, { mirror }]) => (mirror === undefined ? [] : [[mirror, registry]]))
      const done = last.then(() => add(Object.fromEntries(named)))
      last = done.catch(() => undefined)
      return done
    },
    originNames: async () => {
      // The longest first: a mirror may lie below another one's name.
      const known = Object.entries(await read()).sort(([one], [other]) => other.length - one.length)
      return (name) => {
        const full = fullName(name)
        const [mirror, registry] = known.find(([mirror]) => full.startsWith(`${mirror}/`)) ?? []
        return mirror === undefined ? full : `${registry}${full.slice(mirror.length)}`
      }
    },
  }
}
