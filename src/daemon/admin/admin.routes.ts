import { consoleHeader, adminContract as contract } from '../../core/admin/index.ts'
import { isLoopback, isoNow, problem } from '../../core/kit/index.ts'
import { pageHeaders, serveContract } from '../http/index.ts'
import { publicAccounts } from './accounts.repo.ts'
import { changeAccountRole, createAccount, disableAccount, resetPassword } from './accounts.ts'
import { openConsole, openConsoleByLink } from './console-sessions.ts'
import type { AdminDeps } from './deps.ts'
import { login } from './login.ts'
import { changePassword } from './passwords.ts'
import { reauthenticate } from './reauthenticate.ts'
import { listSessions, logout, revokeSession, whoAmI } from './sessions.ts'
import { createToken, listLiveTokens, revokeToken } from './tokens.ts'
import { confirmTotp, disableTotp, enrolTotp } from './totp.ts'

/** For endpoints that answer 204. */
const nothing = async (work: Promise<void>): Promise<undefined> => {
  await work
}

type Header = (name: string) => string | undefined

function assertConsolePage({ console }: AdminDeps, header: Header): void {
  const headers = pageHeaders(header, consoleHeader)
  console.assertServed()
  console.assertHost(headers)
  console.assertOwnPage(headers)
}

const forwarding = ['forwarded', 'x-forwarded-for', 'x-real-ip', 'via']

/** A proxy on this machine has a loopback address too. */
function assertSameMachine(address: string, header: Header): void {
  const hostname = address.replace(/^::ffff:/, '').replace(/^::1$/, '[::1]')
  if (isLoopback({ hostname }) && !forwarding.some((name) => header(name) !== undefined)) return
  throw problem('FORBIDDEN', 'A login link works only in a browser on the machine of the demo.')
}

export const adminRoutes = (deps: AdminDeps) =>
  serveContract(contract, {
    login: ({ body, address, setCaller }) => login(deps, { ...body, address, setCaller }),
    openConsole: async ({ body, address, header, setCookie, setCaller }) => {
      assertConsolePage(deps, header)
      const { cookie, opened } = await openConsole(deps, { ...body, address, setCaller })
      setCookie(deps.console.cookie(cookie))
      return opened
    },
    openConsoleByLink: async ({ body, address, header, setCookie }) => {
      assertConsolePage(deps, header)
      assertSameMachine(address, header)
      const { cookie, opened } = await openConsoleByLink(deps, { ...body, address })
      setCookie(deps.console.cookie(cookie))
      return opened
    },
    closeConsole: async ({ actor, setCookie }) => {
      await logout(deps, actor)
      setCookie(deps.console.deletedCookie)
      return undefined
    },
    logout: ({ actor }) => nothing(logout(deps, actor)),
    whoAmI: ({ actor }) => whoAmI(deps, actor),
    changePassword: ({ actor, body, address }) => nothing(changePassword(deps, actor, { ...body, address })),
    enrolTotp: ({ actor, body, address }) => enrolTotp(deps, actor, { ...body, address }),
    confirmTotp: ({ actor, body }) => confirmTotp(deps, actor, body),
    disableTotp: ({ actor, body, address }) => nothing(disableTotp(deps, actor, { ...body, address })),
    reauthenticate: ({ actor, body, address }) => reauthenticate(deps, actor, { ...body, address }),
    listSessions: async ({ actor, query }) => ({ sessions: await listSessions(deps, actor, query) }),
    revokeSession: ({ actor, params }) => nothing(revokeSession(deps, actor, params)),
    listAccounts: async () => ({ accounts: await publicAccounts(deps.db, isoNow(deps.clock)) }),
    createAccount: ({ actor, body }) => createAccount(deps, actor, body),
    disableAccount: ({ actor, params }) => disableAccount(deps, actor, params),
    changeAccountRole: ({ actor, params, body }) => changeAccountRole(deps, actor, { ...params, ...body }),
    resetPassword: ({ actor, params }) => resetPassword(deps, actor, params),
    listTokens: async () => ({ tokens: await listLiveTokens(deps.db, isoNow(deps.clock)) }),
    createToken: ({ actor, body }) => createToken(deps, actor, body),
    revokeToken: ({ actor, params }) => nothing(revokeToken(deps, actor, params)),
  })
