import type { Names } from './first-page.ts'
import type { Command, Noun, Tree } from './kit/index.ts'

type Load<Loaded> = () => Promise<Loaded>

/** Every noun with its verbs in the order of the first page; what stands behind them is loaded only once it was typed. */
const nouns: readonly (readonly [name: string, verbs: string, Load<Noun>])[] = [
  ['hosts', 'invite list show revoke registries platform', async () => (await import('./hosts/index.ts')).hosts],
  ['tenants', 'list show create update window suspend resume', async () => (await import('./tenants/index.ts')).tenants],
  [
    'users',
    'list show create update roles disable enable reset-password sessions end-session import',
    async () => (await import('./users/index.ts')).users,
  ],
  ['limits', 'top', async () => (await import('./limits/index.ts')).limits],
  [
    'boxes',
    'list show provision adopt scan check logs maintenance move remove release reconcile',
    async () => (await import('./boxes/index.ts')).boxes,
  ],
  ['manifest', 'show diff apply', async () => (await import('./boxes/index.ts')).manifest],
  ['snapshots', 'list take restore drill', async () => (await import('./snapshots/index.ts')).snapshots],
  [
    'rollouts',
    'plan rehearse create start watch pause resume abort rollback undo show list emergency',
    async () => (await import('./rollouts/index.ts')).rollouts,
  ],
  ['alerts', 'list show acknowledge resend test', async () => (await import('./alerts/index.ts')).alerts],
  ['jobs', 'list show retry', async () => (await import('./jobs/index.ts')).jobs],
  ['crons', 'list run history', async () => (await import('./crons/index.ts')).crons],
  ['events', 'tail', async () => (await import('./events/index.ts')).events],
  ['audit', 'list verify export checkpoint public-key', async () => (await import('./audit/index.ts')).audit],
  ['tokens', 'list create revoke', async () => (await import('./admin/index.ts')).tokens],
  ['accounts', 'list create disable role', async () => (await import('./admin/index.ts')).accounts],
  ['completion', 'bash zsh fish', async () => (await import('./completion/index.ts')).completionOf(wholeTree)],
]

const alone: readonly (readonly [name: string, summary: string, Load<Command>])[] = [
  ['login', 'Log in as a person; asks for name, password and one-time code', async () => (await import('./admin/index.ts')).login],
  ['logout', 'End the session of the last login, here and on the daemon', async () => (await import('./admin/index.ts')).logout],
  ['whoami', 'Who the daemon takes you for, and until when', async () => (await import('./admin/index.ts')).whoAmI],
  ['doctor', 'Look at daemon, login and clock; say how to mend what is not well', async () => (await import('./service/index.ts')).doctor],
]

/** The names alone: what the first page of help shows needs no room and no frame. */
export const names = (): Names => ({
  nouns: nouns.map(([name, verbs]) => ({ name, verbs: verbs.split(' ').map((verb) => ({ name: verb })) })),
  alone: alone.map(([name, summary]) => ({ name, summary })),
})

/** What these words may mean, in full; of the rest only the names, which is all that help shows of it. */
export const treeFor = (words: readonly string[]): Promise<Tree> => treeWith((name) => words.includes(name))

/** Every command there is, in full: completion is made from it. */
export const wholeTree = (): Promise<Tree> => treeWith(() => true)

async function treeWith(isWanted: (name: string) => boolean): Promise<Tree> {
  const { nameOnly } = await import('./kit/index.ts')
  const nounNamed = (name: string, verbs: string): Noun => ({
    name,
    summary: '',
    verbs: verbs.split(' ').map((verb) => nameOnly(verb, '')),
  })
  return {
    nouns: await Promise.all(nouns.map(async ([name, verbs, load]) => (isWanted(name) ? load() : nounNamed(name, verbs)))),
    alone: await Promise.all(alone.map(async ([name, summary, load]) => (isWanted(name) ? load() : nameOnly(name, summary)))),
  }
}
