import { readFile } from 'node:fs/promises'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { stringify } from 'yaml'
import { readTestbed } from '../testbed/testbed.ts'
import { manifestOf } from './support/fleet.ts'
import { type RealMachine, startMachine } from './support/machine.ts'
import { eventually } from './support/programs.ts'

// Both programs under the units as they are shipped, on a machine with systemd, installed by the very lines of deploy/README.md.

const name = `tenantry-units-${process.pid}`
let machine: RealMachine
const sh = (script: string) => machine.shell(script)

/** Values of this machine for the examples of the README. */
const here: readonly (readonly [string, string])[] = [
  ['npm ci && npm run setup && npm prune --omit=dev', ':'],
  // Three good probes are to take seconds, not minutes.
  ["'publicUrl: https://tenantry.example'", "'{ publicUrl: http://127.0.0.1:8440, probe: { spacingMs: 700 }, rollouts: { pollMs: 500 } }'"],
  ['https://tenantry.example', 'http://127.0.0.1:8440'],
  ['s3://store.example/tenantry', 'file:/var/lib/tenantry-snapshots'],
  ['registry.example', readTestbed().registry],
  ['--token-file <file>', '--token-file /root/invite'],
  // It has no terminal user.
  ['--pty', '--pipe'],
  ['--role admin', '--role admin --password-file /tmp/password'],
]

/** The blocks of deploy/README.md, in their order: programs, daemon, a command of its own, agent. */
async function blocks(): Promise<string[]> {
  const text = await readFile('deploy/README.md', 'utf8')
  for (const [example] of here) expect(text).toContain(example)
  return [...text.matchAll(/```sh\n([\s\S]*?)```/g)].map(([, block = '']) =>
    here.reduce((typed, [example, ours]) => typed.replaceAll(example, ours), `cd /opt/tenantry\n${block}`),
  )
}

const json = async <T>(command: string) => JSON.parse(await sh(`${command} --json`)) as T
/** Until the agent has said so in its log. */
const agentSays = (words: string) =>
  sh(`timeout 300 grep -m 1 -- '${words}' < <(journalctl --unit tenantry-agent --follow --no-tail --output cat 2>/dev/null)`)
/** Programs in containers that the agent of this machine has started for the dump of a snapshot some time ago; a check ends its own after a while. */
const hanging = async (seconds: number) =>
  (
    await sh(`for at in $(grep -lszx TENANTRY_OWNER=/var/lib/tenantry-agent /proc/[0-9]*/environ | cut -d / -f 3); do
      if [[ $(readlink /proc/$at/ns/pid) != $(readlink /proc/1/ns/pid) ]] && grep -qz VERBOSITY=verbose /proc/$at/cmdline; then ps -o pid=,etimes= -p $at || true; fi; done`)
  )
    .split('\n')
    .map((line) => line.trim().split(/ +/))
    .filter(([, age]) => Number(age) >= seconds)
    .map(([pid]) => pid)
/** Freezes one of them and returns its pid; waiting for a database lock would time out. A program that has just ended takes the signal too. */
const held = () =>
  eventually('one of them hangs', async () => {
    for (const pid of await hanging(1)) if (/^T/.test((await sh(`kill -s STOP ${pid}; ps -o stat= -p ${pid}`)).trim())) return pid
    return undefined
  })
const ready = 'until curl -sf http://127.0.0.1:8440/readyz; do sleep 0.2; done'

beforeAll(async () => {
  machine = await startMachine(name)
  const [programs, daemon, command, agent] = (await blocks()) as [string, string, string, string]
  await sh(programs)
  await sh(daemon)
  await sh(ready)
  await sh('echo "a long password for tests" > /root/password; install -o tenantryd -m 600 /root/password /tmp/password')
  await sh(command)
  await sh(`tenantry login --url http://127.0.0.1:8440 --name anna --password-file /root/password
    tenantry hosts invite host-1 --json | node -p 'JSON.parse(fs.readFileSync(0)).token' > /root/invite`)
  // Agents that are stopped during a command below must not wait for it.
  await sh('echo TENANTRY_AGENT_DRAIN_MS=1000 > /etc/tenantry/tenantry-agent.env')
  await sh(agent)
  const manifest = (version: string) => stringify(manifestOf(readTestbed(), version))
  for (const version of ['1.157.1', '1.163.2']) await sh(`cat > /root/${version}.yaml <<'END'\n${manifest(version)}END`)
})
afterEach(async ({ task }) => {
  if (task.result?.state === 'fail') console.error(await sh('journalctl --no-pager --lines 80 --unit tenantryd --unit tenantry-agent'))
})
afterAll(() => machine?.end())

test('installed as deploy/README.md says, both run, and a box is set up that is seen by hand too, without naming any settings', async () => {
  expect(await sh('systemd-analyze verify /etc/systemd/system/tenantry*.service')).toBe('')
  await sh(`tenantry manifest apply /root/1.157.1.yaml --yes
    tenantry boxes provision linden --name Linden --plan light --domain linden.example --host host-1`)
  expect(await sh('cd / && tenantry-agent box list && tenantry-agent box versions linden')).toMatch(/^linden +managed[\s\S]*1\.157\.1/)
  expect(await sh('cd / && tenantry-agent doctor')).toMatch(/✓ settings +\/etc\/tenantry\/tenantry-agent\.yaml[\s\S]*✓ daemon/)
})

test('a box is updated and the daemon restarted meanwhile; with a restore the bits of a shared folder come back', async () => {
  const media = `$(docker inspect --format '{{range .Mounts}}{{println .Source}}{{end}}' box-linden-synapse-1 | grep media)`
  await sh(`mkdir ${media}/shared; chown --reference ${media} ${media}/shared; chmod 2775 ${media}/shared`)
  await sh('tenantry manifest apply /root/1.163.2.yaml --yes')
  const over = json<{ status: string; actions: { snapshotId: string; status: string }[] }>(
    'tenantry rollouts create --target linden --start --wait 2>/dev/null',
  )
  const fenced = `grep -rqE --include '*update*' '"step": *"stop"' /var/lib/tenantry-agent/journal`
  const restarted = sh(`until ${fenced}; do sleep 0.2; done; systemctl restart tenantryd; ${ready}`)
  const [rollout] = await Promise.all([over, restarted])
  expect(rollout).toMatchObject({ status: 'done', actions: [{ status: 'succeeded' }] })
  await sh(`tenantry snapshots restore linden --snapshot ${rollout.actions[0]?.snapshotId} --reason 'a try' --wait --yes`)
  expect(await sh(`stat --format %a ${media}/shared`)).toBe('2775')
})

test('its agent is upgraded from outside: the new one has checked the box before the command ends', async () => {
  await sh(`mkdir /opt/next; cp -a /opt/tenantry/{bin,config,deploy,dist} /opt/next/; ln -s /opt/tenantry/node_modules /opt/next/
    sed 's/"version": "[^"]*"/"version": "9.9.9"/' /opt/tenantry/package.json > /opt/next/package.json`)
  const install = 'ln -sf /opt/next/bin/$PROGRAM.js /usr/bin/$PROGRAM; systemctl restart $PROGRAM'.replaceAll('$PROGRAM', 'tenantry-agent')
  const upgrade = async () => {
    const line = `tenantry hosts upgrade --to 9.9.9 --yes --json --run 'test "$HOST" = host-1; ${install}' 2>/dev/null`
    return (JSON.parse(await sh(line)) as { hosts: object[] }).hosts
  }
  expect(await upgrade()).toMatchObject([{ host: 'host-1', state: 'upgraded' }])
  const { agentVersion, resources } = await json<{ agentVersion: string; resources: object }>('tenantry hosts show host-1')
  expect(agentVersion).toMatch(/^9\.9\.9\+/)
  expect(resources).toMatchObject({ boxes: 1, checkedAt: expect.any(String) })
  expect(await upgrade()).toMatchObject([{ host: 'host-1', state: 'up_to_date' }])
})

test('a killed agent restarts, ends its processes in containers and continues; a stop during a command drains', async () => {
  const psql = 'docker exec box-linden-postgres-1 psql --username postgres --quiet --tuples-only --no-align'
  // Until it is resumed, the database cannot be read to its end.
  await sh(`${psql.replace('exec', 'exec --detach')} --dbname synapse --command 'begin; lock table events; select pg_sleep(600)'`)
  const locks = "select count(*) from pg_locks where relation = 'events'::regclass and mode = 'AccessExclusiveLock' and granted"
  await eventually('the table is locked', async () => (await sh(`${psql} --dbname synapse --command "${locks}"`)).trim() === '1')
  await sh('tenantry snapshots take linden')
  const first = await held()
  await sh('systemctl kill --signal KILL --kill-who main tenantry-agent')
  await agentSays('"survivors":[1-9]')
  expect(await sh('systemctl show tenantry-agent --property NRestarts --value')).toBe('1')
  const second = await held()
  expect(await hanging(0)).not.toContain(first)
  expect(second).not.toBe(first)

  const began = performance.now()
  await sh('systemctl stop tenantry-agent')
  expect(performance.now() - began).toBeLessThan(30_000)
  expect(await sh('systemctl show tenantry-agent --property Result --value')).toBe('success')
  expect(await hanging(0)).not.toContain(second)
  await sh(`${psql} --command "select pg_terminate_backend(pid) from pg_stat_activity where query like '%pg_sleep%' and pid <> pg_backend_pid()"
    systemctl start tenantry-agent`)
  await agentSays('"kind":"tenant-box.snapshot","ok":true')
})
