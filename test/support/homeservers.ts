import type { Done, Fault, Homeserver, Homeservers, LoggedIn } from '../../src/core/homeserver/index.ts'
import { secret } from '../../src/core/kit/index.ts'

type ChatUser = { password: string; locked: boolean; userId: string }

/** In-memory chat servers, one per tenant: passwords, live tokens and simulated faults. */
export type ChatServer = Homeserver &
  Readonly<{
    users: Map<string, ChatUser>
    /** Live tokens with user and device. */
    tokens: Map<string, { localpart: string; deviceName: string }>
    /** Every checked password. */
    looked: string[]
    fail(fault: Fault | undefined): void
    /** Runs during each login. */
    during(work: (() => Promise<unknown>) | undefined): void
  }>

export function chatServer(domain: string): ChatServer {
  const users = new Map<string, ChatUser>()
  const tokens = new Map<string, { localpart: string; deviceName: string }>()
  const looked: string[] = []
  let fault: Fault | undefined
  let meanwhile: (() => Promise<unknown>) | undefined
  let count = 0
  const done = (work: () => Done): Promise<Done> => Promise.resolve(fault ?? work())
  const unused = () => Promise.reject(new Error('not needed here'))

  const login: Homeserver['login'] = async ({ localpart, password, deviceName }): Promise<LoggedIn> => {
    if (fault) return fault
    looked.push(password.reveal())
    await meanwhile?.()
    const user = users.get(localpart)
    if (user?.password !== password.reveal()) return { kind: 'refused' }
    if (user.locked) return { kind: 'locked' }
    count += 1
    const token = `syt_${localpart}_${count}`
    tokens.set(token, { localpart, deviceName })
    return { kind: 'ok', userId: user.userId, deviceId: `D${count}`, accessToken: secret(token) }
  }

  return {
    users,
    tokens,
    looked,
    fail: (given) => {
      fault = given
    },
    during: (work) => {
      meanwhile = work
    },
    login,
    logout: (token) =>
      done(() => {
        tokens.delete(token.reveal())
        return { kind: 'ok' }
      }),
    changePassword: ({ localpart, password }) =>
      done(() => {
        const user = users.get(localpart)
        if (!user) return { kind: 'absent' }
        user.password = password.reveal()
        return { kind: 'ok' }
      }),
    createUser: async ({ localpart, password }) => {
      if (fault) return fault
      if (users.has(localpart)) return { kind: 'exists' }
      users.set(localpart, { password: password.reveal(), locked: false, userId: `@${localpart}:${domain}` })
      return { kind: 'created' }
    },
    setLocked: ({ localpart, locked }) =>
      done(() => {
        const user = users.get(localpart)
        if (user) user.locked = locked
        return { kind: user ? 'ok' : 'absent' }
      }),
    erase: ({ localpart }) =>
      done(() => {
        const user = users.get(localpart)
        if (user) user.password = ''
        return { kind: user ? 'ok' : 'absent' }
      }),
    whoami: unused,
    setDisplayName: unused,
    send: unused,
    read: unused,
  }
}

export const homeserversOf = (servers: Readonly<Record<string, ChatServer>>): Homeservers => ({
  of: (tenantId) => {
    const server = servers[tenantId]
    if (!server) throw new Error(`no chat server for ${tenantId}`)
    return server
  },
})
