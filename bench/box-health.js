import { execFileSync, spawn } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { api } from '../dist/core/api.js'
import { makeClient } from '../dist/core/contract/index.js'
import { startDaemon, wait } from './daemon-process.js'
import { readTestbed } from './real-box.js'
import { isQuick } from './size.js'

const bin = new URL('../bin/tenantry-agent.js', import.meta.url).pathname
const [slug, port] = ['kita-bench', 18_436]
/** After a report the next one follows 15 s later at the earliest: a change is shown at once only after a quiet time. */
const quietMs = 20_000

const rows = (shownMs, alertedMs) => [
  row('a stopped chat server, from its end until it is shown', shownMs, 3_000),
  row('the same, until its alert', alertedMs, 130_000),
]

const row = (what, ms, mostMs) => ({
  what,
  measured: ms === undefined ? '–' : `${(ms / 1000).toFixed(1)} s`,
  reach: `within ${mostMs / 1000} s`,
  ok: ms === undefined ? undefined : ms <= mostMs,
})

/** A real box whose Synapse is stopped behind the back of its agent. */
export async function boxHealth() {
  const testbed = readTestbed()
  if (!testbed || isQuick) return rows()
  const daemon = await startDaemon(port, { settings: { TENANTRY_BOXES_FIRST_PORT: String(port + 10), TENANTRY_PROBE_SPACING_MS: '700' } })
  const { folder } = daemon
  const docker = (...args) =>
    execFileSync(testbed.docker, args, { env: { PATH: process.env.PATH, DOCKER_HOST: testbed.dockerHost }, encoding: 'utf8' })
  const idsOf = (...filters) =>
    docker('ps', '-aq', ...filters.flatMap((filter) => ['--filter', filter]))
      .split('\n')
      .filter(Boolean)
  const ofBox = `label=com.docker.compose.project.working_dir=${join(folder, 'boxes', slug)}`
  let agent
  let project
  try {
    const clientOf = (room, token) =>
      makeClient(api[room], { baseUrl: daemon.url, headers: () => (token ? { authorization: `Bearer ${token}` } : {}) })
    const { token } = await clientOf('admin').login({ body: { name: 'anna', password: daemon.password } })
    const [hosts, boxes, alerts] = [clientOf('hosts', token), clientOf('boxes', token), clientOf('alerts', token)]
    agent = await startAgent({ testbed, daemon, invite: (await hosts.inviteHost({ body: { name: 'host-1' } })).token })
    await until(async () => (await hosts.listHosts()).hosts[0]?.status === 'online')
    await boxes.applyManifest({ body: { manifest: manifestOf(testbed) } })
    await boxes.provisionBox({ body: { slug, host: 'host-1', name: 'Kita', plan: 'light', chatDomain: 'kita.example' } })
    const state = async () => (await boxes.showBox({ params: { slug } })).health?.state
    await until(async () => (await state()) === 'running')
    await wait(quietMs)
    const [synapse] = idsOf(ofBox, 'label=com.docker.compose.service=synapse')
    project = docker('inspect', '-f', '{{index .Config.Labels "com.docker.compose.project"}}', synapse).trim()
    docker('stop', synapse)
    const stoppedMs = performance.now()
    await until(async () => (await state()) === 'down', 50)
    const shownMs = performance.now() - stoppedMs
    await until(async () =>
      (await alerts.listAlerts({ query: { status: 'open', limit: 200 } })).alerts.some(({ kind }) => kind === 'box_down'),
    )
    return rows(shownMs, performance.now() - stoppedMs)
  } finally {
    agent?.kill('SIGKILL')
    for (const id of idsOf(ofBox)) docker('rm', '-f', '-v', id)
    if (project)
      for (const kind of ['volume', 'network'])
        for (const id of docker(kind, 'ls', '-q', '--filter', `label=com.docker.compose.project=${project}`).split('\n').filter(Boolean))
          docker(kind, 'rm', id)
    daemon.close()
  }
}

async function startAgent({ testbed, daemon: { folder, url }, invite }) {
  const env = {
    PATH: process.env.PATH,
    TENANTRY_AGENT_STATE_DIR: join(folder, 'agent'),
    TENANTRY_AGENT_BOXES_DIR: join(folder, 'boxes'),
    TENANTRY_AGENT_DOCKER_HOST: testbed.dockerHost,
    TENANTRY_AGENT_DOCKER_CONFIG: testbed.dockerConfig,
    TENANTRY_AGENT_RESTIC: testbed.restic,
    TENANTRY_AGENT_IMAGES: `${testbed.registry}/tenantry/*`,
  }
  writeFileSync(join(folder, 'invite'), invite, { mode: 0o600 })
  execFileSync(process.execPath, [bin, 'enrol', '--url', url, '--token-file', join(folder, 'invite')], { env, stdio: 'ignore' })
  return spawn(process.execPath, [bin, 'run'], { env, stdio: 'ignore' })
}

function manifestOf({ images, registry }) {
  const versions = { migrationsHead: '0000', postgres: images.postgres.tag, synapse: '1.163.2', minio: images.minio.tag }
  const at = (name, tag) => `${registry}/tenantry/${name}:${tag}`
  return {
    images: {
      edge: images.edge.ref,
      synapse: at('synapse', 'v{version}'),
      postgres: at('postgres', '{version}'),
      minio: at('minio', '{version}'),
    },
    tiers: { free: versions, pro: versions, enterprise: versions },
  }
}

async function until(holds, everyMs = 500) {
  for (const endMs = performance.now() + 300_000; performance.now() < endMs; await wait(everyMs))
    if (await holds().catch(() => false)) return
  throw new Error('the bench waited five minutes in vain')
}
