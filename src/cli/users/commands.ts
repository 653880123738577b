import { problem } from '../../core/kit/index.ts'
import { assertConfirmed, type Context, command, count, flag, many, oneOf, readTextFile, required, text } from '../kit/index.ts'
import { createdView, resetView, userList, userView } from './users.view.ts'

export const list = command(
  'list <tenant>',
  'Users of a tenant by name',
  {
    status: oneOf('--status <status>', 'only these', ['active', 'disabled']),
    withoutPassword: flag('--without-password', 'only those whose password nobody knows, after a restore'),
    oldPassword: flag('--old-password', 'only those whose newest password a restore has taken back'),
    limit: count('--limit <count>', 'at most so many'),
    cursor: text('--cursor <cursor>', 'go on where the page before ended'),
  },
  ({ api }, { tenant, withoutPassword, oldPassword, ...query }) => {
    const only = {
      ...(withoutPassword ? { withoutPassword: 'true' as const } : {}),
      ...(oldPassword ? { oldPassword: 'true' as const } : {}),
    }
    return api.users.listUsers({ params: { slug: tenant }, query: { ...query, ...only } })
  },
  userList,
)

export const show = command(
  'show <tenant> <user>',
  'One user',
  {},
  ({ api }, { tenant, user }) => api.users.showUser({ params: { slug: tenant, localpart: user } }),
  userView,
)

export const create = command(
  'create <tenant> <user>',
  'Make a user here and in the chat server; an account that exists there keeps its password',
  {
    displayName: text('--name <name>', 'as others see it'),
    roles: many('--role <roles>', 'what it may do, several with commas; without it the default role'),
    locale: text('--locale <tag>', 'its language: de, de-AT'),
    passwordFile: text('--password-file <file>', 'its password, on the first line (- is stdin); without it one is made and shown once'),
  },
  async ({ api, ...context }, { tenant, user, displayName, roles, locale, passwordFile }) => {
    const password = await passwordIn(context, passwordFile)
    const given = {
      ...(displayName === undefined ? {} : { displayName }),
      ...(roles.length === 0 ? {} : { roles: [...roles] }),
      ...(locale === undefined ? {} : { locale }),
      ...(password === undefined ? {} : { password }),
    }
    return api.users.createUser({ params: { slug: tenant }, body: { localpart: user, ...given } })
  },
  createdView,
  { examples: ['create anna-schule ben.lang --name "Ben Lang" --role teacher'] },
)

const firstLine = (content: string): string => content.split(/\r?\n/, 1)[0] ?? ''

/** The first line of a file, or of stdin. */
async function passwordIn({ readStdin }: Pick<Context, 'readStdin'>, file: string | undefined): Promise<string | undefined> {
  return file === undefined ? undefined : firstLine(file === '-' ? await readStdin() : await readTextFile(file))
}

export const resetPassword = command(
  'reset-password <tenant> <user>',
  'Give a user another password; all platform sessions end, devices stay logged in to the chat',
  {
    passwordFile: text('--password-file <file>', 'the password, on the first line (- is stdin); without it one is made and shown once'),
    logOutDevices: flag('--log-out-devices', 'end the chat sessions of its devices too; messages that only they can read are lost'),
  },
  async ({ api, ask, ...context }, { tenant, user, passwordFile, logOutDevices }) => {
    const password = await passwordIn(context, passwordFile)
    await assertConfirmed(ask, `Give ${user} of ${tenant} another password and end its platform sessions?`)
    const body = { logOutDevices, ...(password === undefined ? {} : { password }) }
    return api.users.resetUserPassword({ params: { slug: tenant, localpart: user }, body })
  },
  resetView,
  { examples: ['reset-password anna-schule ben.lang', 'reset-password anna-schule ben.lang --log-out-devices --yes'] },
)

export const update = command(
  'update <tenant> <user>',
  'Change the name or the language of a user; what is not named stays',
  {
    displayName: text('--name <name>', 'as others see it; empty takes it out'),
    locale: text('--locale <tag>', 'its language; empty takes it out'),
  },
  ({ api }, { tenant, user, displayName, locale }) => {
    if (displayName === undefined && locale === undefined) throw problem('USAGE', 'say what to change: --name or --locale')
    const body = {
      ...(displayName === undefined ? {} : { displayName: displayName === '' ? null : displayName }),
      ...(locale === undefined ? {} : { locale: locale === '' ? null : locale }),
    }
    return api.users.changeUser({ params: { slug: tenant, localpart: user }, body })
  },
  userView,
)

export const roles = command(
  'roles <tenant> <user> <roles...>',
  'Say what a user may do: these roles and no others, from its next request on',
  {},
  ({ api }, { tenant, user, roles: given }) =>
    api.users.changeUser({
      params: { slug: tenant, localpart: user },
      body: { roles: given.flatMap((one) => one.split(',')).filter(Boolean) },
    }),
  userView,
  { examples: ['roles anna-schule ben.lang teacher staff'] },
)

export const disable = command(
  'disable <tenant> <user>',
  'End all sessions of a user within a second and lock it out of the chat',
  { reason: required(text('--reason <text>', 'why; it stands in the audit log')) },
  async ({ api, ask }, { tenant, user, reason }) => {
    await assertConfirmed(ask, `Shut ${user} of ${tenant} out of platform and chat?`)
    return api.users.disableUser({ params: { slug: tenant, localpart: user }, body: { reason } })
  },
  userView,
)

export const enable = command(
  'enable <tenant> <user>',
  'Let a disabled user log in again, here and in the chat',
  {},
  ({ api }, { tenant, user }) => api.users.enableUser({ params: { slug: tenant, localpart: user } }),
  userView,
)
