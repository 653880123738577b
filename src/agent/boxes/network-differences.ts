import { isIPv6 } from 'node:net'
import { sha256Hex } from '../../core/kit/index.ts'
import type { ProjectNetwork } from '../ports/index.ts'
import { recordOf } from './mounts.ts'

/** `isOtherCompose`: only its hash differs, and another compose version created it. */
export type NetworkDifference = Readonly<{ network: string; text: string; isOtherCompose: boolean }>

/**
 * Compares networks with the file as compose resolves it. Compose before 2.32 keeps a network whatever the file says; later versions recreate one
 * whose recorded hash differs, and stop all its containers for that. External networks are not of the project.
 */
export function networkDifferencesOf(
  networks: readonly ProjectNetwork[],
  model: Readonly<Record<string, unknown>>,
  { file, installed }: Readonly<{ file: string; installed: string }>,
): NetworkDifference[] {
  return Object.values(recordOf(model.networks))
    .map((network) => recordOf(withSingleDollars(network)))
    .filter(({ external }) => !external)
    .flatMap((written): NetworkDifference[] => {
      const runs = networks.find(({ name }) => name === written.name)
      if (!runs || runs.configHash === hashOf(written)) return []
      const network = runs.name
      const parts = differing(settingsOf(runs.settings), settingsOf(written))
      if (parts.length > 0) return [{ network, text: `network ${network} has ${runsVersus(parts, file)}`, isOtherCompose: false }]
      if (runs.configHash === null) return []
      const isOtherCompose = releaseIn(runs.composeVersion) !== releaseIn(installed)
      return [{ network, text: `network ${network} was created with other settings than ${file} has`, isOtherCompose }]
    })
    .sort((one, other) => (one.network < other.network ? -1 : 1))
}

/** Compose doubles each dollar sign that it prints. */
const withSingleDollars = (printed: unknown): unknown => JSON.parse(JSON.stringify(printed).replaceAll('$$', '$'))

/** Hashes the JSON that Go writes: it escapes five characters more. */
const hashOf = (written: Written): string =>
  sha256Hex(JSON.stringify(written).replaceAll(/[<>&\u2028\u2029]/g, (sign) => `\\u${sign.charCodeAt(0).toString(16).padStart(4, '0')}`))

/** The label has three numbers; the plugin may add its distribution's suffix. */
export const releaseIn = (version: string | null): string | undefined => /\d+\.\d+\.\d+/.exec(version ?? '')?.[0]

type Written = ProjectNetwork['settings']
/** One text for each setting, by its place in a compose file. */
type Settings = Readonly<Record<string, string>>
type Part = Readonly<{ name: string; runs: string | undefined; written: string | undefined }>

/**
 * A setting that the file leaves open is the engine's choice or was removed from the file. The engine chooses subnets, gateways, IPv6 and options
 * (`default-network-opts` of its settings), so for these both look the same. It never chooses the others.
 */
const notChosenByEngine = (setting: string): boolean =>
  /^(labels|ipam\.options)\.|^ipam\.subnet \S+ (ip_range$|aux_addresses\.)/.test(setting)

function differing(runs: Settings, written: Settings): Part[] {
  const removed = Object.keys(runs).filter((name) => notChosenByEngine(name) && written[name] === undefined)
  return [...Object.keys(written), ...removed]
    .filter((name) => runs[name] !== written[name])
    .sort()
    .map((name) => ({ name, runs: runs[name], written: written[name] }))
}

function runsVersus(parts: readonly Part[], file: string): string {
  const list = (side: 'runs' | 'written') => parts.map((part) => `${part.name} ${part[side] ?? 'unset'}`).join(', ')
  return `${list('runs')}, but ${file} has ${list('written')}`
}

function settingsOf({ driver, driver_opts: options, internal, attachable, enable_ipv6: ipv6, labels, ipam }: Written): Settings {
  const { driver: ipamDriver, options: ipamOptions, config } = recordOf(ipam)
  return {
    driver: typeof driver === 'string' && driver !== 'default' ? driver : 'bridge',
    internal: String(internal ?? false),
    attachable: String(attachable ?? false),
    ...(typeof ipv6 === 'boolean' ? { enable_ipv6: String(ipv6) } : {}),
    ...(typeof ipamDriver === 'string' ? { 'ipam.driver': ipamDriver } : {}),
    ...flat('driver_opts', options),
    ...flat('ipam.options', ipamOptions),
    ...flat('labels', labels),
    ...Object.assign({}, ...(Array.isArray(config) ? config.map((pool) => poolSettings(recordOf(pool))) : [])),
  }
}

/** Every pool by its subnet, because their order does not matter. */
function poolSettings({ subnet, gateway, ip_range: range, aux_addresses: others }: Record<string, unknown>): Settings {
  if (typeof subnet !== 'string') return {}
  const name = `ipam.subnet ${address(subnet)}`
  return {
    [name]: 'set',
    ...(typeof gateway === 'string' ? { [`${name} gateway`]: address(gateway) } : {}),
    ...(typeof range === 'string' ? { [`${name} ip_range`]: address(range) } : {}),
    ...flat(`${name} aux_addresses`, others),
  }
}

const flat = (name: string, values: unknown): Settings =>
  Object.fromEntries(Object.entries(recordOf(values)).map(([key, value]) => [`${name}.${key}`, String(value)]))

/** IPv6 has several spellings; the engine prints the shortest. */
function address(text: string): string {
  const [host = '', prefix] = text.split('/')
  const shortest = isIPv6(host) ? new URL(`http://[${host}]`).hostname.slice(1, -1) : host
  return prefix === undefined ? shortest : `${shortest}/${prefix}`
}
