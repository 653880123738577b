import type { Names } from './first-page.ts'
import type { Command, Noun, Tree } from './kit/index.ts'

type Load<Loaded> = () => Promise<Loaded>

/** Every noun with its verbs in the order of the first page. A feature is loaded only when its noun was typed. */
const nouns: readonly (readonly [name: string, verbs: string, Load<Noun>])[] = [
  ['hosts', 'invite list show revoke registries platform upgrade', async () => (await import('./hosts/index.ts')).hosts],
  [
    'tenants',
    'list show create update window billing suspend resume export delete',
    async () => (await import('./tenants/index.ts')).tenants,
  ],
  [
    'users',
    'list show create update roles disable enable erase reset-password sessions end-session import',
    async () => (await import('./users/index.ts')).users,
  ],
  ['automation', 'keys rotate', async () => (await import('./automation/index.ts')).automation],
  ['limits', 'top', async () => (await import('./limits/index.ts')).limits],
  [
    'boxes',
    'list show provision adopt import scan check follow services logs restart maintenance canary move remove release reconcile rehearse-upgrade',
    async () => (await import('./boxes/index.ts')).boxes,
  ],
  ['manifest', 'show history diff resolve apply rollback', async () => (await import('./boxes/index.ts')).manifest],
  ['snapshots', 'list take restore recover drill proofs abandon', async () => (await import('./snapshots/index.ts')).snapshots],
  [
    'rollouts',
    'plan rehearse create start watch pause resume promote abort rollback show list emergency',
    async () => (await import('./rollouts/index.ts')).rollouts,
  ],
  [
    'modules',
    'init check test pack register submit list show health audit withdraw restore upstream',
    async () => (await import('./modules/index.ts')).modules,
  ],
  ['reviews', 'list show approve reject invite verify', async () => (await import('./reviews/index.ts')).reviews],
  ['marketplace', 'items submissions vendors', async () => (await import('./marketplace/index.ts')).marketplace],
  ['billing', 'preview usage waive payouts developer reconcile', async () => (await import('./billing/index.ts')).billing],
  ['webhooks', 'list show replay', async () => (await import('./webhooks/index.ts')).webhooks],
  ['alerts', 'list show acknowledge resend channels test', async () => (await import('./alerts/index.ts')).alerts],
  ['boards', 'list show check export import simulate', async () => (await import('./boards/index.ts')).boards],
  [
    'runs',
    'list show read history cancel retry startable start waiting tasks open advance',
    async () => (await import('./runs/index.ts')).runs,
  ],
  ['jobs', 'list show retry', async () => (await import('./jobs/index.ts')).jobs],
  ['crons', 'list run history', async () => (await import('./crons/index.ts')).crons],
  ['events', 'tail', async () => (await import('./events/index.ts')).events],
  ['audit', 'list verify export checkpoint public-key', async () => (await import('./audit/index.ts')).audit],
  ['settings', 'list', async () => (await import('./service/index.ts')).settings],
  ['tokens', 'list create revoke', async () => (await import('./admin/index.ts')).tokens],
  ['accounts', 'list create disable role passkeys remove-passkey', async () => (await import('./admin/index.ts')).accounts],
  ['contexts', 'list use remove', async () => (await import('./admin/index.ts')).contexts],
  ['completion', 'bash zsh fish names', async () => (await import('./completion/index.ts')).completionOf(wholeTree)],
]

const alone: readonly (readonly [name: string, summary: string, Load<Command>])[] = [
  ['login', 'Log in interactively', async () => (await import('./admin/index.ts')).login],
  ['logout', 'Log out and end the session on the daemon', async () => (await import('./admin/index.ts')).logout],
  ['whoami', 'Show current identity and session expiry', async () => (await import('./admin/index.ts')).whoAmI],
  ['status', 'Show alerts, rollouts, drift and hosts on one screen', async () => (await import('./service/index.ts')).status],
  ['doctor', 'Check daemon, login and clock', async () => (await import('./service/index.ts')).doctor],
]

/** Names and summaries for the first page of help; loads no feature. */
export const names = (): Names => ({
  nouns: nouns.map(([name, verbs]) => ({ name, verbs: verbs.split(' ').map((verb) => ({ name: verb })) })),
  alone: alone.map(([name, summary]) => ({ name, summary })),
})

/** Commands that the typed words name, in full; all others as names. */
export const treeFor = (words: readonly string[]): Promise<Tree> => treeWith((name) => words.includes(name))

/** Every command in full, for shell completion. */
export const wholeTree = (): Promise<Tree> => treeWith(() => true)

async function treeWith(isTyped: (name: string) => boolean): Promise<Tree> {
  const { nameOnly } = await import('./kit/index.ts')
  const emptyNoun = (name: string, verbs: string): Noun => ({
    name,
    summary: '',
    verbs: verbs.split(' ').map((verb) => nameOnly(verb, '')),
  })
  return {
    nouns: await Promise.all(nouns.map(async ([name, verbs, load]) => (isTyped(name) ? load() : emptyNoun(name, verbs)))),
    alone: await Promise.all(alone.map(async ([name, summary, load]) => (isTyped(name) ? load() : nameOnly(name, summary)))),
  }
}
