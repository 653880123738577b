import { createServer, type Server, type Socket } from 'node:net'
import { onTestFinished } from 'vitest'

type Received = Readonly<{ from: string; to: readonly string[]; message: string }>

type Manner = Readonly<{
  /** Its response to a name and password; without it any sender is accepted. */
  auth?: string
  /** Its response to the end of a message. */
  accepts?: string
  /** Answers nothing at all. */
  silent?: boolean
}>

/** A real mail server from a sender's view: greets, accepts mails and stores them. `manner` may be changed while it runs. */
export async function smtpServer({
  port = 0,
  whenOver = onTestFinished,
}: {
  port?: number
  whenOver?: (close: () => Promise<void>) => void
} = {}) {
  const received: Received[] = []
  const state: { manner: Manner; said: string[] } = { manner: {}, said: [] }
  const sockets = new Set<Socket>()
  const server = createServer((socket) => {
    sockets.add(socket.on('close', () => sockets.delete(socket)).on('error', () => undefined))
    if (!state.manner.silent) converse(socket, state, received)
  })
  await new Promise<void>((ready) => server.listen(port, '127.0.0.1', ready))
  const close = () => closeAll(server, sockets)
  whenOver(close)
  const at = (server.address() as { port: number }).port
  return {
    port: at,
    url: `smtp://127.0.0.1:${at}`,
    received,
    said: state.said,
    close,
    behave: (manner: Manner) => {
      state.manner = manner
    },
  }
}

const closeAll = (server: Server, sockets: ReadonlySet<Socket>) =>
  new Promise<void>((closed) => {
    server.close(() => closed())
    for (const socket of sockets) socket.destroy()
  })

function converse(socket: Socket, state: { manner: Manner; said: string[] }, received: Received[]): void {
  let [from, to, message, pending]: [string, string[], string | undefined, string] = ['', [], undefined, '']
  const say = (line: string) => socket.write(`${line}\r\n`)

  const hear = (line: string) => {
    if (message !== undefined) {
      if (line !== '.') message += `${line.replace(/^\.\./, '.')}\n`
      else {
        const answer = state.manner.accepts ?? '250 taken'
        if (answer.startsWith('2')) received.push({ from, to, message })
        message = undefined
        to = []
        say(answer)
      }
      return
    }
    state.said.push(line)
    if (/^EHLO/i.test(line)) say('250-test\r\n250-AUTH PLAIN\r\n250 8BITMIME')
    else if (/^AUTH/i.test(line)) say(state.manner.auth ?? '235 welcome')
    else if (/^MAIL FROM:/i.test(line)) {
      from = /<(.*?)>/.exec(line)?.[1] ?? ''
      say('250 ok')
    } else if (/^RCPT TO:/i.test(line)) {
      to.push(/<(.*?)>/.exec(line)?.[1] ?? '')
      say('250 ok')
    } else if (/^DATA/i.test(line)) {
      message = ''
      say('354 go on')
    } else if (/^QUIT/i.test(line)) {
      say('221 bye')
      socket.end()
    } else say('250 ok')
  }

  socket.on('data', (chunk) => {
    const lines = (pending + chunk.toString('latin1')).split('\r\n')
    pending = lines.pop() ?? ''
    lines.forEach(hear)
  })
  say('220 test')
}
