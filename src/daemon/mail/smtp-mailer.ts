import { type Problem, printable, problem, withoutSecrets } from '../../core/kit/index.ts'
import { compose, type From } from './compose.ts'
import type { Mailer } from './mail.ts'

const stepMs = 10_000
const wholeMs = 45_000

/** One connection per mail, with limits on each step. A password only travels encrypted, unless the server is this machine. */
export function smtpMailer(from: From, address: string): Mailer {
  const server = readAddress(address)
  const settings = {
    host: server.host,
    port: server.port,
    secure: server.secure,
    requireTLS: !server.secure && server.user !== '' && !server.local,
    ...(server.user === '' ? {} : { auth: { user: server.user, pass: server.password } }),
    connectionTimeout: stepMs,
    greetingTimeout: stepMs,
    socketTimeout: stepMs,
    logger: false,
  }
  return {
    send: async (mail, signal) => {
      // Loaded by the first mail: most daemons write none for weeks.
      const { createTransport } = await import('nodemailer')
      const transport = createTransport(settings)
      const limit = signal ? AbortSignal.any([signal, AbortSignal.timeout(wholeMs)]) : AbortSignal.timeout(wholeMs)
      await Promise.race([transport.sendMail(compose(from, mail)), brokenOff(limit)]).catch((error: SmtpError) => {
        throw spoken(error, server)
      })
      return `accepted by ${server.host}`
    },
  }
}

type Server = Readonly<{ host: string; port: number; secure: boolean; local: boolean; user: string; password: string }>

function readAddress(address: string): Server {
  const { protocol, hostname, port, username, password } = new URL(address)
  const secure = protocol === 'smtps:'
  const host = hostname.replace(/^\[|\]$/g, '')
  const local = /^(127(\.\d{1,3}){3}|localhost|::1)$/.test(host)
  const [user, pass] = [decodeURIComponent(username), decodeURIComponent(password)]
  return { host, port: port === '' ? (secure ? 465 : 587) : Number(port), secure, local, user, password: pass }
}

type SmtpError = Error & Readonly<{ code?: string; response?: string }>

/** The server's response is untrusted and may contain what was sent to it. */
function spoken({ code, response, message }: SmtpError, { host, port, user, password }: Server): Problem {
  const secrets = [password, base64(password), user, base64(user), base64(`\0${user}\0${password}`)]
  const said = withoutSecrets(printable((response ?? message).replace(/\s+/g, ' ')), secrets)
  const fix = response === undefined ? 'check that it runs and that mail.smtp is right' : 'check the recipient, mail.from and the account'
  return problem(
    'UNAVAILABLE',
    `The mail server ${host}:${port} rejected the mail (${code ?? 'failed'}: ${said.slice(0, 200)}). fix: ${fix}`,
  )
}

const base64 = (text: string) => Buffer.from(text).toString('base64')

const brokenOff = (signal: AbortSignal): Promise<never> =>
  new Promise((_, failed) => {
    const fail = () => failed(Object.assign(new Error('broken off'), { code: 'ETIMEDOUT' }))
    if (signal.aborted) fail()
    signal.addEventListener('abort', fail, { once: true })
  })
