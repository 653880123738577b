import { problem } from '../../core/kit/index.ts'
import { assertConfirmedOf, type Context, command, count, flag, many, oneOf, readSecretLines, required, text } from '../kit/index.ts'
import { createdView, erasedView, erasureView, resetView, userList, userView } from './users.view.ts'

export const list = command('list <tenant>', 'List the users of a tenant', {
  options: {
    status: oneOf('--status <status>', 'filter by status', ['active', 'disabled', 'erased']),
    withoutPassword: flag('--without-password', 'only users whose password was lost in a restore'),
    oldPassword: flag('--old-password', 'only users whose password a restore reverted'),
    limit: count('--limit <count>', 'max results'),
    cursor: text('--cursor <cursor>', 'pagination cursor'),
  },
  run: ({ api }, { tenant, withoutPassword, oldPassword, ...query }) => {
    const only = {
      ...(withoutPassword ? { withoutPassword: 'true' as const } : {}),
      ...(oldPassword ? { oldPassword: 'true' as const } : {}),
    }
    return api.users.listUsers({ params: { slug: tenant }, query: { ...query, ...only } })
  },
  view: userList,
})

export const show = command('show <tenant> <user>', 'Show a user', {
  run: ({ api }, { tenant, user }) => api.users.showUser({ params: { slug: tenant, localpart: user } }),
  view: userView,
})

export const create = command('create <tenant> <user>', 'Create a user on the platform and in the chat server', {
  options: {
    displayName: text('--name <name>', 'display name'),
    roles: many('--role <roles>', 'roles, comma-separated (default: the default role)'),
    locale: text('--locale <tag>', 'language: de, de-AT'),
    email: text('--email <address>', 'mail address for forgotten passwords'),
    passwordFile: text('--password-file <file>', 'file with the password on line 1 (- is stdin; default: generate)'),
  },
  run: async ({ api, ...context }, { tenant, user, displayName, roles, locale, email, passwordFile }) => {
    const password = await passwordIn(context, passwordFile)
    const fields = {
      ...(displayName === undefined ? {} : { displayName }),
      ...(roles.length === 0 ? {} : { roles: [...roles] }),
      ...(locale === undefined ? {} : { locale }),
      ...(email === undefined ? {} : { email }),
      ...(password === undefined ? {} : { password }),
    }
    return api.users.createUser({ params: { slug: tenant }, body: { localpart: user, ...fields } })
  },
  view: createdView,
  examples: ['create anna-schule ben.lang --name "Ben Lang" --role teacher'],
})

async function passwordIn(context: Pick<Context, 'readStdin'>, file: string | undefined): Promise<string | undefined> {
  return file === undefined ? undefined : (await readSecretLines(context, file, 'password'))[0]
}

export const resetPassword = command('reset-password <tenant> <user>', 'Reset a password and end all platform sessions', {
  options: {
    passwordFile: text('--password-file <file>', 'file with the password on line 1 (- is stdin; default: generate)'),
    logOutDevices: flag('--log-out-devices', 'also end chat sessions; messages only they can decrypt are lost'),
  },
  run: async (context, { tenant, user, passwordFile, logOutDevices }) => {
    const { api } = context
    const password = await passwordIn(context, passwordFile)
    const question = `Reset the password of ${user} (${tenant}) and end all platform sessions?`
    await assertConfirmedOf(context, question, () => api.users.showUser({ params: { slug: tenant, localpart: user } }))
    const body = { logOutDevices, ...(password === undefined ? {} : { password }) }
    return api.users.resetUserPassword({ params: { slug: tenant, localpart: user }, body })
  },
  view: resetView,
  examples: ['reset-password anna-schule ben.lang', 'reset-password anna-schule ben.lang --log-out-devices --yes'],
})

export const update = command('update <tenant> <user>', 'Update the name, language or mail address of a user', {
  options: {
    displayName: text('--name <name>', 'display name (empty removes it)'),
    locale: text('--locale <tag>', 'language (empty removes it)'),
    email: text('--email <address>', 'mail address (empty removes it)'),
  },
  run: ({ api }, { tenant, user, displayName, locale, email }) => {
    if ([displayName, locale, email].every((value) => value === undefined))
      throw problem('USAGE', 'nothing to change; pass --name, --locale or --email')
    const body = {
      ...(displayName === undefined ? {} : { displayName: displayName === '' ? null : displayName }),
      ...(locale === undefined ? {} : { locale: locale === '' ? null : locale }),
      ...(email === undefined ? {} : { email: email === '' ? null : email }),
    }
    return api.users.changeUser({ params: { slug: tenant, localpart: user }, body })
  },
  view: userView,
})

export const roles = command('roles <tenant> <user> <roles...>', 'Replace the roles of a user', {
  run: ({ api }, { tenant, user, roles: names }) =>
    api.users.changeUser({
      params: { slug: tenant, localpart: user },
      body: { roles: names.flatMap((one) => one.split(',')).filter(Boolean) },
    }),
  view: userView,
  examples: ['roles anna-schule ben.lang teacher staff'],
})

export const disable = command('disable <tenant> <user>', 'Disable a user on the platform and in the chat', {
  options: { reason: required(text('--reason <text>', 'reason for the audit log')) },
  run: async (context, { tenant, user, reason }) => {
    const { users } = context.api
    const params = { slug: tenant, localpart: user }
    const question = `Disable ${user} (${tenant})? All sessions end, on the platform and in the chat.`
    await assertConfirmedOf(context, question, () => users.showUser({ params }))
    return users.disableUser({ params, body: { reason } })
  },
  view: userView,
})

export const erase = command('erase <tenant> <user>', 'Erase a user and its data for good', {
  run: async ({ api, ask, notify, yes }, { tenant, user }) => {
    const params = { slug: tenant, localpart: user }
    if (!yes) {
      await api.users.showUser({ params })
      await confirmErasure({ ask, notify }, tenant, user)
    }
    return api.privacy.eraseUser({ params })
  },
  view: erasedView,
  examples: ['erase anna-schule ben.lang', 'erase anna-schule ben.lang --yes'],
})

async function confirmErasure({ ask, notify }: Pick<Context, 'ask' | 'notify'>, tenant: string, user: string): Promise<void> {
  notify((style) => erasureView(tenant, user, style))
  const typed = await ask.text(`Type ${user} to erase the user:`, 'pass --yes')
  if (typed.trim() !== user) throw problem('CANCELLED', `confirmation does not match ${user}; nothing was changed`)
}

export const enable = command('enable <tenant> <user>', 'Enable a disabled user', {
  run: ({ api }, { tenant, user }) => api.users.enableUser({ params: { slug: tenant, localpart: user } }),
  view: userView,
})
