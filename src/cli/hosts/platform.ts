import { problem } from '../../core/kit/index.ts'
import { clean, command, flag, text } from '../kit/index.ts'

export const platform = command(
  'platform <name>',
  'Say where the daemon reaches the chat servers of a host that is not its own machine',
  {
    address: text('--address <url>', 'http://10.0.3.7:{port} on a listed private network, or https://{slug}.boxes.example'),
    loopback: flag('--loopback', "on the daemon's own machine, as of a host of which nothing was said"),
  },
  ({ api }, { name, address, loopback }) => {
    if ((address === undefined) !== loopback) throw problem('USAGE', 'give --address <url> or --loopback')
    return api.homeserver.setPlatformAddress({ params: { name }, body: { address: address ?? null } })
  },
  ({ host, address }) => `Boxes of ${clean(host)} are reached ${address === null ? 'on loopback' : `at ${clean(address)}`}.`,
  { examples: ['platform host-2 --address http://10.0.3.7:{port}'] },
)
