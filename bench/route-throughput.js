import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import autocannon from 'autocannon'
import { sized } from './size.js'

const seconds = sized(4, 0.2)
const rounds = sized(5, 1)
const [framedPort, barePort] = [18_432, 18_433]

const bareRoute = `
  import express from 'express'
  const app = express().get('/whoami', (_, response) => response.json({ id: 'acc_0123456789', name: 'anna', role: 'admin' }))
  app.listen(${barePort}, '127.0.0.1', () => console.error('ready'))`

const cwd = fileURLToPath(new URL('..', import.meta.url))

/** Starts a server; resolves with what it said first. */
async function start(...args) {
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'ignore', 'pipe'], cwd })
  const [said] = await once(child.stderr, 'data')
  return { child, said: String(said).trim() }
}

/** Requests per second of one GET, after a warm-up. */
async function perSecond(url, headers = {}) {
  await autocannon({ url, headers, connections: 20, duration: 1 })
  const { requests, non2xx } = await autocannon({ url, headers, connections: 20, duration: seconds })
  if (non2xx > 0) throw new Error(`${url} failed ${non2xx} times`)
  return requests.average
}

/** A validated, authenticated JSON route through the daemon's frame against a bare Express route, in turn, pair by pair. */
export async function routeThroughput() {
  const framed = await start('bench/framed-route.js', String(framedPort))
  const bare = await start('--input-type=module', '-e', bareRoute)
  try {
    const authorization = `Bearer ${framed.said}`
    const ratios = []
    for (let round = 0; round < rounds; round++) {
      const plain = await perSecond(`http://127.0.0.1:${barePort}/whoami`)
      ratios.push((await perSecond(`http://127.0.0.1:${framedPort}/whoami?limit=20`, { authorization })) / plain)
    }
    const ratio = ratios.sort((a, b) => a - b)[Math.floor(rounds / 2)]
    const what = 'authenticated, validated JSON route against a bare Express route'
    return [{ what, measured: `${Math.round(ratio * 100)} %`, reach: 'at least 60 %', ok: ratio >= 0.6 }]
  } finally {
    framed.child.kill('SIGKILL')
    bare.child.kill('SIGKILL')
  }
}
