import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { execa } from 'execa'
import { type Browser, chromium } from 'playwright-core'
import { test as base } from 'vitest'

const executable = process.env.CHROMIUM ?? '/usr/bin/chromium'
const args = ['--no-sandbox']

/** Tests with the browser of their worker: starting one takes longer than most tests. `afterAll` closes the pages of a file by `closePages`. */
// biome-ignore lint/correctness/noEmptyPattern: Vitest reads from it which fixtures this one uses.
export const test = base.extend('browser', { scope: 'worker' }, async ({}, { onCleanup }) => {
  const { browser, close } = await openBrowser()
  onCleanup(close)
  return browser
})

/** Closes all pages of a file: they would ask a daemon that ended, again and again. */
export async function closePages(browser: Browser): Promise<void> {
  await Promise.all(browser.contexts().map((context) => context.close()))
}

type Opened = Readonly<{ browser: Browser; close(): Promise<void> }>

/**
 * A browser in a network namespace of its own: Chromium ends all that it loads when an address of its machine comes or goes, as with each container
 * of the tests beside this one. A SOCKS proxy of this process leads out. Without root it shares the machine's network.
 */
async function openBrowser(): Promise<Opened> {
  if (process.getuid?.() !== 0) {
    const browser = await chromium.launch({ executablePath: executable, args })
    return { browser, close: () => browser.close() }
  }
  const network = `tenantry-${process.pid}`
  const folder = await mkdtemp(join(tmpdir(), 'tenantry-browser-'))
  const remove = async () => {
    await rm(folder, { recursive: true, force: true })
    await execa('ip', ['netns', 'delete', network], { reject: false })
  }
  try {
    await execa('ip', ['netns', 'add', network])
    await execa('ip', ['-n', network, 'link', 'set', 'lo', 'up'])
    const executablePath = join(folder, 'chromium')
    await writeFile(executablePath, `#!/bin/sh\nexec ip netns exec ${network} ${executable} "$@"\n`, { mode: 0o700 })
    // Requests that a test sends in place of the page come from outside, by the same proxy.
    const outside = createServer(serve).listen(0, '127.0.0.1')
    await once(outside, 'listening')
    const { port } = outside.address() as AddressInfo
    const inside = (await listenIn(network, port)).on('connection', serve)
    const browser = await chromium.launch({ executablePath, args, proxy: { server: `socks5://127.0.0.1:${port}` } })
    const close = async () => {
      await browser.close()
      outside.close()
      inside.close()
      await remove()
    }
    return { browser, close }
  } catch (error) {
    await remove()
    throw error
  }
}

const listener = `require('node:net').createServer().listen(Number(process.argv[1]), '127.0.0.1', function () {
  process.send('listening', this)
})`

/** A socket keeps the namespace in which it was made: a process in there makes it and hands it over. */
async function listenIn(network: string, port: number): Promise<Server> {
  const maker = spawn('ip', ['netns', 'exec', network, process.execPath, '--eval', listener, String(port)], {
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  })
  const received = once(maker, 'message')
  const ended = once(maker, 'exit')
  const died = ended.then(() => Promise.reject(new Error(`nothing listens in ${network}`)))
  died.catch(() => undefined)
  const [, server] = (await Promise.race([received, died])) as [string, Server]
  // It would accept connections too.
  maker.kill()
  await ended
  return server
}

const [version, noAuth, ipv4, name, succeeded, refused] = [5, 0, 1, 3, 0, 5]

/** A browser that is closed resets connections, also in the middle of a greeting. */
const serve = (client: Socket): void => void serveSocks(client).catch(() => client.destroy())

/** RFC 1928: names, addresses of IP version 4, no login. */
async function serveSocks(client: Socket): Promise<void> {
  client.on('error', () => client.destroy())
  let received = Buffer.alloc(0)
  client.on('data', (part) => {
    received = Buffer.concat([received, part])
  })
  const read = async (bytes: number): Promise<Buffer> => {
    while (received.length < bytes) await once(client, 'data')
    const part = received.subarray(0, bytes)
    received = received.subarray(bytes)
    return part
  }
  const [, methods = 0] = await read(2)
  await read(methods)
  client.write(Buffer.from([version, noAuth]))
  const [, , , kind] = await read(4)
  if (kind !== ipv4 && kind !== name) return void client.destroy()
  const host = kind === ipv4 ? [...(await read(4))].join('.') : (await read((await read(1)).readUInt8())).toString()
  const port = (await read(2)).readUInt16BE()
  const answer = (code: number) => client.write(Buffer.from([version, code, 0, ipv4, 0, 0, 0, 0, 0, 0]))
  const target = connect({ host, port, noDelay: true })
  target.once('connect', () => {
    client.removeAllListeners('data')
    answer(succeeded)
    client.setNoDelay(true)
    client.pipe(target).pipe(client)
  })
  target.on('error', () => {
    if (target.connecting) answer(refused)
    client.destroy()
  })
  target.on('close', () => client.destroy())
  client.on('close', () => target.destroy())
}
