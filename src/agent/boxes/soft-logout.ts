import { rm } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { type Clock, isoIn, isoNow, problem } from '../../core/kit/index.ts'
import { readIfThere, syncFolder, writeFileAtomic } from '../../node/index.ts'
import type { BoxLocks } from '../journal/index.ts'
import type { ContainerEngine, LocalBox, Project } from '../ports/index.ts'
import type { LocalBoxes } from './local-boxes.ts'

// A restored chat server does not know the devices that logged in since its snapshot. It answers their tokens with `soft_logout: false`, after
// which apps delete their encryption keys. With this file the edge answers `true`: apps keep the keys and log in again.

/** nginx includes it beside the rules of the box template. */
export const softLogoutFile = 'edge/conf.d/soft-logout.conf'

/** As long as a session of the platform from before the restore may last; later the app has to log in again anyway. */
const softDays = 90

const heading = '# Written by the agent when it restored the data of this box. It removes this file after '

/**
 * The text stays as it is in all answers but 401: it may be part of a message. Answers that Synapse compressed (`compress: true`) are unpacked
 * first, for all clients.
 */
export const softLogoutRules = (until: string): string => `${heading}${until}
map $status $soft_logout {
  default '"soft_logout":false';
  401 '"soft_logout":true';
}
gunzip on;
gzip_disable .;
sub_filter_types application/json;
sub_filter '"soft_logout":false' $soft_logout;
`

type Deps = Readonly<{ engine: Pick<ContainerEngine, 'containers' | 'exec'>; clock: Clock }>

/** Returns until when. Throws CONFIG_INVALID, and leaves the edge as it is, if it does not accept the rules. */
export async function beginSoftLogout(deps: Deps, { slug, project }: Pick<LocalBox, 'slug' | 'project'>): Promise<string> {
  const until = isoIn(deps.clock, softDays * 86_400_000)
  await writeFileAtomic(join(project.folder, softLogoutFile), softLogoutRules(until))
  const refused = await reloadEdge(deps, project)
  if (refused === undefined) return until
  await removeRules(project)
  throw problem('CONFIG_INVALID', `The edge of ${slug} does not accept ${softLogoutFile}: ${refused}. fix: use the official nginx image`)
}

/** Removes the rules of all boxes whose time is over. A box with a running command is left for later. Returns the slugs. */
export async function endSoftLogouts(deps: Deps & Readonly<{ boxes: Pick<LocalBoxes, 'list'>; locks: BoxLocks }>): Promise<string[]> {
  const ended: string[] = []
  for (const box of await deps.boxes.list()) if ((await isOver(deps, box.project)) && (await end(deps, box))) ended.push(box.slug)
  return ended
}

async function end(deps: Deps & Readonly<{ locks: BoxLocks }>, { slug, project }: Pick<LocalBox, 'slug' | 'project'>): Promise<boolean> {
  const lock = await deps.locks.acquire(slug).catch(() => undefined)
  if (!lock) return false
  try {
    if (!(await isOver(deps, project))) return false
    await removeRules(project)
    await reloadEdge(deps, project)
    return true
  } finally {
    await lock.release()
  }
}

async function isOver({ clock }: Deps, project: Project): Promise<boolean> {
  const text = await readIfThere(join(project.folder, softLogoutFile))
  return text?.startsWith(heading) === true && (text.slice(heading.length).split('\n')[0] as string) < isoNow(clock)
}

async function removeRules({ folder }: Project): Promise<void> {
  const path = join(folder, softLogoutFile)
  await rm(path, { force: true })
  await syncFolder(dirname(path))
}

/** Returns nginx's complaint about its rules; undefined once it uses them. Requests that are under way end as they began. */
async function reloadEdge({ engine }: Deps, project: Project): Promise<string | undefined> {
  const edge = (await engine.containers(project)).find(({ service, state }) => service === 'edge' && state === 'running')
  if (!edge) return 'it does not run'
  const checked = await engine.exec(edge.id, ['nginx', '-t', '-q'])
  if (checked.exitCode !== 0) return checked.stderr.trim().split('\n')[0]?.slice(0, 300) || 'nginx -t failed'
  const reloaded = await engine.exec(edge.id, ['nginx', '-s', 'reload'])
  return reloaded.exitCode === 0 ? undefined : reloaded.stderr.trim().slice(0, 300) || 'nginx -s reload failed'
}
