import { readFile, realpath, stat } from 'node:fs/promises'

/** True where files of one folder can be hard-linked into the other: same file system, and not across a bind mount. */
export async function isLinkable(from: string | undefined, to: string | undefined, mounts = '/proc/self/mountinfo'): Promise<boolean> {
  if (from === undefined || to === undefined) return false
  const places = await Promise.all([from, to].map((path) => realpath(path).catch(() => undefined)))
  const [here, there] = places
  if (here === undefined || there === undefined) return false
  const points = mountPoints(await readFile(mounts, 'utf8').catch(() => ''))
  const [{ dev }, { dev: otherDev }] = await Promise.all([stat(here), stat(there)])
  return dev === otherDev && mountPointOf(points, here) === mountPointOf(points, there)
}

/** The fifth field of a line; spaces and the like are octal. */
const mountPoints = (mountinfo: string): string[] =>
  mountinfo
    .split('\n')
    .flatMap((line) => line.split(' ')[4] ?? [])
    .map((field) => field.replace(/\\([0-7]{3})/g, (_, digits: string) => String.fromCharCode(Number.parseInt(digits, 8))))

const mountPointOf = (points: readonly string[], path: string): string =>
  points
    .filter((point) => path === point || path.startsWith(point === '/' ? '/' : `${point}/`))
    .reduce((longest, point) => (point.length > longest.length ? point : longest), '')
