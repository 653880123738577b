import { useQuery } from '@tanstack/react-query'
import type { HostView } from '../../core/hosts/index.ts'
import { bytesText, plural } from '../../core/kit/index.ts'
import { hostsQuery } from '../hosts/index.ts'
import { Choices, Loaded, Scroll } from '../kit/index.ts'
import { words } from './words.ts'

type Props = Readonly<{ label: string; except?: string; value: string | undefined; onChange(host: string): void }>

/** One of the hosts that are online, with its room. */
export function HostChoice({ label, except, value, onChange }: Props) {
  const hosts = useQuery(hostsQuery)
  return (
    <Loaded query={hosts} rows={2}>
      {({ hosts: all }) => {
        const choices = choicesOf(all, except)
        if (choices.length === 0) return <p className="tone-failed">{words.noHost}</p>
        return (
          <Scroll className="scrolling">
            <Choices label={label} value={value ?? null} onChange={onChange} choices={choices} />
          </Scroll>
        )
      }}
    </Loaded>
  )
}

const choicesOf = (hosts: readonly HostView[], except: string | undefined) =>
  hosts
    .filter(({ name, status }) => status === 'online' && name !== except)
    .map(({ name, resources, diskLow }) => ({ value: name, label: roomOf(name, resources, diskLow) }))

const roomOf = (name: string, resources: HostView['resources'], diskLow: boolean): string =>
  resources
    ? `${name}: ${plural(resources.boxes ?? 0, 'box', 'boxes')}, ${bytesText(resources.freeDiskBytes)} free${diskLow ? ' (low)' : ''}`
    : name
