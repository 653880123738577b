import { consoleHeader, adminContract as contract, relyingPartyOf } from '../../core/admin/index.ts'
import { isLoopback, isoNow, problem } from '../../core/kit/index.ts'
import { pageHeaders, serveContract } from '../http/index.ts'
import { publicAccounts } from './accounts.repo.ts'
import { changeAccountRole, createAccount, disableAccount, resetPassword } from './accounts.ts'
import { approveCliLogin, beginCliLogin, finishCliLogin, showCliLogin } from './cli-logins.ts'
import { openConsole, openConsoleByLink } from './console-sessions.ts'
import type { AdminDeps } from './deps.ts'
import { login } from './login.ts'
import { beginPasskeyLogin, openConsoleByPasskey } from './passkey-login.ts'
import { addPasskey, beginPasskey, listPasskeys, removePasskey } from './passkeys.ts'
import { changePassword } from './passwords.ts'
import { assertCompanyLogin, beginProviderLogin, finishProviderLogin } from './provider-login.ts'
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
    showLoginWays: () => ({
      provider: deps.company?.provider.name ?? null,
      passkeys: relyingPartyOf(deps.baseUrl) !== undefined,
    }),
    beginProviderLogin: async ({ body, header, setCookie }) => {
      assertConsolePage(deps, header)
      assertCompanyLogin(deps)
      const { address, cookie } = await beginProviderLogin(deps, body)
      setCookie(deps.console.loginCookie(cookie))
      return { address }
    },
    finishProviderLogin: async ({ body, address, header, setCookie }) => {
      assertConsolePage(deps, header)
      assertCompanyLogin(deps)
      const loginCookie = deps.console.loginCookieOf(header('cookie'))
      const { cookie, opened } = await finishProviderLogin(deps, { ...body, address, loginCookie })
      setCookie(deps.console.deletedLoginCookie)
      setCookie(deps.console.cookie(cookie))
      return opened
    },
    listPasskeys: async ({ actor, query }) => ({ passkeys: await listPasskeys(deps, actor, query) }),
    beginPasskey: async ({ actor, setCookie }) => {
      const { creation, cookie } = await beginPasskey(deps, actor)
      setCookie(deps.console.passkeyCookie(cookie))
      return creation
    },
    addPasskey: async ({ actor, body, header, setCookie }) => {
      const cookie = deps.console.passkeyCookieOf(header('cookie'))
      const passkey = await addPasskey(deps, actor, { ...body, cookie })
      setCookie(deps.console.deletedPasskeyCookie)
      return passkey
    },
    removePasskey: ({ actor, params }) => nothing(removePasskey(deps, actor, params)),
    beginPasskeyLogin: ({ header, setCookie }) => {
      assertConsolePage(deps, header)
      const { request, cookie } = beginPasskeyLogin(deps)
      setCookie(deps.console.passkeyCookie(cookie))
      return request
    },
    openConsoleByPasskey: async ({ body, address, header, setCookie, setCaller }) => {
      assertConsolePage(deps, header)
      const challengeCookie = deps.console.passkeyCookieOf(header('cookie'))
      const { cookie, opened } = await openConsoleByPasskey(deps, { ...body, challengeCookie, address, setCaller })
      setCookie(deps.console.deletedPasskeyCookie)
      setCookie(deps.console.cookie(cookie))
      return opened
    },
    beginCliLogin: ({ address }) => {
      deps.console.assertServed()
      return beginCliLogin(deps, { address, baseUrl: deps.baseUrl })
    },
    showCliLogin: ({ params }) => showCliLogin(deps, params.userCode),
    approveCliLogin: ({ actor, params }) => nothing(approveCliLogin(deps, actor, params.userCode)),
    finishCliLogin: async ({ body }) => ({ session: (await finishCliLogin(deps, body.deviceCode)) ?? null }),
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
