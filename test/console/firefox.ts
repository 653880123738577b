import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { connect, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { systemClock } from '../../src/node/index.ts'
import { freePort } from '../support/free-port.ts'

// Debian's Firefox over Marionette, its own remote protocol: playwright drives only builds of its own or newer ones than Debian's.

const program = process.env.FIREFOX ?? '/usr/bin/firefox-esr'
export const isFirefoxInstalled = existsSync(program)

type Reply = readonly [1, number, Readonly<{ error: string; message: string }> | null, { value?: unknown } | null]
const elementKey = 'element-6066-11e4-a52e-4f735466cecf'

/** A Firefox without a window, in a profile of its own. Selectors are XPath, and are waited for. */
export async function openFirefox() {
  const profile = await mkdtemp(join(tmpdir(), 'firefox-'))
  const port = await freePort()
  await writeFile(join(profile, 'user.js'), `user_pref("marionette.port", ${port});\nuser_pref("app.normandy.enabled", false);\n`)
  const child = spawn(program, ['--marionette', '--headless', '--profile', profile, 'about:blank'], { stdio: 'ignore' })
  const socket = await untilConnected(port)
  const send = commandsOver(socket)
  await send('WebDriver:NewSession', { capabilities: { alwaysMatch: { acceptInsecureCerts: false } } })
  await send('WebDriver:SetTimeouts', { implicit: 30_000, pageLoad: 60_000 })
  const find = async (xpath: string) => {
    const reply = await send('WebDriver:FindElement', { using: 'xpath', value: xpath })
    return (reply as { value: Record<string, string> }).value[elementKey] as string
  }
  return {
    go: (url: string) => send('WebDriver:Navigate', { url }),
    see: find,
    type: async (xpath: string, text: string) => send('WebDriver:ElementSendKeys', { id: await find(xpath), text }),
    click: async (xpath: string) => send('WebDriver:ElementClick', { id: await find(xpath) }),
    /** Runs `script` in the page; answers what it returns. */
    run: async (script: string) => ((await send('WebDriver:ExecuteScript', { script, args: [] })) as { value: unknown }).value,
    screenshot: async (path: string) => {
      const { value } = (await send('WebDriver:TakeScreenshot', { full: false })) as { value: string }
      await writeFile(path, Buffer.from(value, 'base64'))
    },
    close: async () => {
      const ended = once(child, 'exit')
      child.kill('SIGKILL')
      await ended
      socket.destroy()
      await rm(profile, { recursive: true, force: true, maxRetries: 5 })
    },
  }
}

async function untilConnected(port: number): Promise<Socket> {
  for (let tries = 0; tries < 600; tries++) {
    const socket = connect(port, '127.0.0.1')
    const isOpen = await once(socket, 'connect').then(
      () => true,
      () => false,
    )
    if (isOpen) return socket
    await systemClock.sleep(100)
  }
  throw new Error('Firefox does not open its port within a minute')
}

/** Each message is its length in bytes, a colon, and JSON: a greeting first, then one reply to each command. */
function commandsOver(socket: Socket) {
  let [received, next] = [Buffer.alloc(0), 0]
  const waiting = new Map<number, (reply: Reply) => void>()
  socket.on('data', (data) => {
    received = Buffer.concat([received, data])
    for (;;) {
      const colon = received.indexOf(':')
      const end = colon + 1 + Number(received.subarray(0, Math.max(0, colon)))
      if (colon < 0 || received.length < end) return
      const message = JSON.parse(received.subarray(colon + 1, end).toString()) as Reply | object
      received = received.subarray(end)
      if (Array.isArray(message)) waiting.get(message[1])?.(message as unknown as Reply)
    }
  })
  return async (command: string, parameters: object): Promise<unknown> => {
    const id = ++next
    const text = JSON.stringify([0, id, command, parameters])
    const reply = new Promise<Reply>((done) => waiting.set(id, done))
    socket.write(`${Buffer.byteLength(text)}:${text}`)
    const [, , error, result] = await reply
    if (error) throw new Error(`${command} ${JSON.stringify(parameters)}: ${error.error}: ${error.message}`)
    return result
  }
}
