import { join } from 'node:path'
import { problem } from '../../core/kit/index.ts'
import { sumPlainFile } from '../boxes/index.ts'
import type { BoxServers, ForeignStack, LocalBox } from '../ports/index.ts'

const sampled = { newest: 10, random: 40 } as const

type Compared = Readonly<{ box: LocalBox; folder: string; sources: ForeignStack['media']; signal: AbortSignal }>

/** Compares a sample of media byte for byte; returns how many there were. One that is missing on both sides was accepted. Throws RESTORE_FAILED. */
export async function compareMedia(
  { servers }: Readonly<{ servers: BoxServers }>,
  { box, folder, sources, signal }: Compared,
): Promise<number> {
  const { sample } = await servers.sampleMedia(box, sampled, signal)
  const wrong: string[] = []
  let compared = 0
  for (const { path } of sample) {
    const [there, here] = [await sumAt(sources, path, signal), await sumPlainFile(folder, path, signal)]
    if (there === undefined && here === undefined) continue
    if (typeof there !== 'object' || typeof here !== 'object' || there.sha256 !== here.sha256) wrong.push(path)
    compared += 1
  }
  if (wrong.length > 0)
    throw problem('RESTORE_FAILED', `${wrong.length} of ${compared} compared media of ${box.slug} differ: ${wrong.slice(0, 3).join(', ')}`)
  return compared
}

/** The deepest mount that has the path. */
function sumAt(sources: ForeignStack['media'], path: string, signal: AbortSignal): ReturnType<typeof sumPlainFile> {
  const source = sources
    .filter(({ inside }) => inside === '' || path.startsWith(`${inside}/`))
    .toSorted((a, b) => b.inside.length - a.inside.length)[0]
  if (!source) return Promise.resolve(undefined)
  return sumPlainFile(join(source.from), source.inside === '' ? path : path.slice(source.inside.length + 1), signal)
}
