import { realpath } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import { execa } from 'execa'
import { dockerEnvironment, readTestbed } from '../../testbed/testbed.ts'

const repository = resolve(import.meta.dirname, '../../..')

/** A machine of its own with systemd and a container engine, for tests that must not change this one; removed by `end()`. */
export type RealMachine = Readonly<{
  name: string
  /** Runs a script as root, as typed in a login shell; answers what it printed, and fails with it. */
  shell(script: string): Promise<string>
  end(): Promise<void>
}>

/**
 * All rights but SYS_RESOURCE, which a virtual machine may lack: `--privileged` asks for that one too. The engine mounts control groups
 * read-only for everybody else.
 */
const rights = [
  ['--cap-add', 'ALL'],
  ['--cap-drop', 'SYS_RESOURCE'],
  ...['seccomp=unconfined', 'apparmor=unconfined', 'systempaths=unconfined'].map((option) => ['--security-opt', option]),
  ['--device-cgroup-rule', 'a *:* rwm'],
  ['--cgroupns', 'private'],
].flat()

const boot =
  'for at in /sys /sys/fs/cgroup /sys/fs/cgroup/*; do if mountpoint -q "$at"; then mount -o remount,bind,rw "$at"; fi; done; exec /sbin/init'

/** With what the docs ask of a host, the test bed's images at the registry's usual address, and this repository in /opt/tenantry. */
export async function startMachine(name: string): Promise<RealMachine> {
  const testbed = readTestbed()
  const docker = (args: string[], reject = true) =>
    execa(testbed.docker, args, { env: dockerEnvironment(testbed), extendEnv: false, reject, all: true })
  const registry = [`${testbed.cache}/registry`, `${testbed.cache}/run/registry.yml`]
  const mounts = [
    ...registry.map((path) => [path, path]),
    [repository, '/opt/tenantry'],
    [await realpath(process.execPath), '/usr/bin/node'],
    [testbed.restic, '/usr/bin/restic'],
    [join(dirname(testbed.restic), 'docker-registry'), '/usr/bin/docker-registry'],
    [testbed.composePlugin, '/usr/libexec/docker/cli-plugins/docker-compose'],
  ].flatMap(([from, to]) => ['--volume', `${from}:${to}:ro`])
  const memory = ['/run', '/run/lock', '/tmp'].flatMap((path) => ['--tmpfs', path])
  const engine = ['--volume', '/var/lib/docker']
  await docker(['rm', '--force', '--volumes', name], false)
  await docker(
    [
      'run',
      '--detach',
      '--name',
      name,
      '--hostname',
      'host-1',
      '--env',
      'container=docker',
      ...rights,
      ...memory,
      ...engine,
      ...mounts,
    ].concat('tenantry-testbed/machine', ['/bin/sh', '-c', boot]),
  )
  const shell = async (script: string) => (await docker(['exec', name, 'bash', '-l', '-euo', 'pipefail', '-c', script])).all
  const end = async () => void (await docker(['rm', '--force', '--volumes', name]))
  await shell(`until [[ $(systemctl is-system-running) =~ ^(running|degraded)$ ]]; do sleep 0.2; done
    systemd-run --quiet --unit registry docker-registry serve ${registry[1]}`)
  return { name, shell, end }
}
