import type { Passkey } from '../../core/admin/index.ts'
import { problem } from '../../core/kit/index.ts'
import { ago, assertConfirmed, type Column, type Context, command, type Style, table } from '../kit/index.ts'
import { findByName } from './accounts.ts'

const columns = ({ now }: Style): Column<Passkey>[] => [
  { title: 'PASSKEY', value: ({ name }) => name, priority: 1, minWidth: 12 },
  { title: 'LAST USED', value: ({ lastUsedAt }) => ago(lastUsedAt, now), priority: 1 },
  { title: 'CREATED', value: ({ createdAt }) => ago(createdAt, now), priority: 2 },
  { title: 'ID', value: ({ id }) => id, priority: 3 },
]

async function passkeysOf({ api }: Pick<Context, 'api'>, nameOrId: string) {
  const account = findByName((await api.admin.listAccounts()).accounts, nameOrId, 'account')
  return { account, ...(await api.admin.listPasskeys({ query: { account: account.id } })) }
}

export const listPasskeys = command('passkeys <account>', 'List the passkeys of an account', {
  run: async (context, { account }) => {
    const { passkeys } = await passkeysOf(context, account)
    return { passkeys }
  },
  view: ({ passkeys }, style) =>
    passkeys.length === 0 ? 'No passkeys. Their owner adds them in the console.' : table(style, columns(style), passkeys),
})

export const removePasskey = command('remove-passkey <account> <passkey>', 'Remove a passkey of an account', {
  run: async (context, { account: nameOrId, passkey: wanted }) => {
    const { account, passkeys } = await passkeysOf(context, nameOrId)
    const found = passkeys.find(({ id, name }) => id === wanted || name === wanted)
    if (!found)
      throw problem('NOT_FOUND', `Account ${account.name} has no passkey ${wanted}. fix: tenantry accounts passkeys ${account.name}`)
    await assertConfirmed(context.ask, `Remove passkey ${found.name} of ${account.name}? Its open sessions stay.`)
    return context.api.admin.removePasskey({ params: { id: found.id } })
  },
  view: (_, { paint }, { account, passkey }) => `${paint.green('Removed')} passkey ${passkey} of ${account}.`,
})
