import { problem } from '../../core/kit/index.ts'
import type { BoxServers, ContainerEngine, LocalBox } from '../ports/index.ts'

type Deps = Readonly<{ engine: ContainerEngine; servers: BoxServers }>

/** Text in these is sorted by its bytes, which no library changes. */
const byBytes = new Set(['C', 'POSIX'])

/**
 * Indexes of any other collation are in the order of the C library that wrote them: under another library rows are no longer found, silently.
 * Both images must be on this host. Throws PREFLIGHT_REFUSED.
 */
export async function needSameLibc({ engine, servers }: Deps, box: LocalBox, from: string, to: string): Promise<void> {
  const collation = (await servers.databaseFacts(box))?.collation
  if (collation && byBytes.has(collation)) return
  const [here, there] = await Promise.all([engine.imageLibc(from), engine.imageLibc(to)])
  if (here !== null && here === there) return
  throw problem(
    'PREFLIGHT_REFUSED',
    `the database of ${box.slug} sorts text by the collation ${collation ?? 'unknown'}, and its images have different C libraries (${from}: ${here ?? 'unknown'}, ${to}: ${there ?? 'unknown'}): its indexes would be in the wrong order; use an image with the same library, or dump the database and load it with collation C`,
  )
}
