import { problem } from '../../core/kit/index.ts'
import { ago, type Context, command, table } from '../kit/index.ts'

type StoredContext = Readonly<{ address: string; account: string; expiresAt: string; current: boolean }>

async function storedContexts({ logins }: Pick<Context, 'logins'>): Promise<StoredContext[]> {
  const [last, all] = await Promise.all([logins.last(), logins.all()])
  return all.map(({ url, name, expiresAt }) => ({ address: url, account: name, expiresAt, current: url === last }))
}

export const listContexts = command('list', 'List the daemons with a stored login', {
  run: async (context) => ({ contexts: await storedContexts(context) }),
  view: ({ contexts }, style) =>
    contexts.length === 0
      ? 'No stored logins. Log in: tenantry login --url <address>'
      : table(
          style,
          [
            { title: 'ADDRESS', value: ({ address }) => address, priority: 1, minWidth: 20 },
            { title: 'CURRENT', value: ({ current }) => (current ? 'yes' : ''), priority: 1, paint: () => 'green' },
            { title: 'ACCOUNT', value: ({ account }) => account, priority: 2 },
            { title: 'EXPIRES', value: ({ expiresAt }) => ago(expiresAt, style.now), priority: 2 },
          ],
          contexts,
        ),
  local: true,
})

export const useContext = command('use <address>', 'Make a daemon the default of all commands', {
  run: async (context, { address }) => {
    const { address: url } = findContext(await storedContexts(context), address)
    await context.logins.use(url)
    return { address: url }
  },
  view: ({ address }) => `Commands go to ${address} now.`,
  local: true,
  examples: ['use https://tenantry.example', 'use tenantry.example'],
})

export const removeContext = command('remove <address>', 'Delete a stored login without ending its session', {
  run: async (context, { address }) => {
    const { address: url } = findContext(await storedContexts(context), address)
    await context.logins.forget(url)
    return { address: url }
  },
  view: ({ address }) =>
    `Deleted the login of ${address}. Its session ends by itself; to end one at once: tenantry logout --url ${address}`,
  local: true,
})

/** Finds a context by its address or its host name. Throws NOT_FOUND. */
function findContext(contexts: readonly StoredContext[], typed: string): StoredContext {
  const found = contexts.filter(({ address }) => address === typed.replace(/\/+$/, '') || new URL(address).host === typed)
  const [first, second] = found
  if (!first) throw problem('NOT_FOUND', `no login is stored for ${typed}. fix: \`tenantry contexts list\``)
  if (second)
    throw problem('USAGE', `${typed} is ambiguous: ${found.map(({ address }) => address).join(', ')}. fix: pass the whole address`)
  return first
}
