import { useQuery } from '@tanstack/react-query'
import { useEffect, useRef, useState } from 'react'
import type { BoxDetail, Service } from '../../core/boxes/index.ts'
import {
  Ago,
  api,
  Button,
  ChoiceFilter,
  CliLine,
  followStream,
  Link,
  Scroll,
  Section,
  TextFilter,
  useMay,
  useSearchState,
} from '../kit/index.ts'
import { logText, noLogs, type ShownLogs, withMessage } from './log-lines.ts'
import { serviceWords as words } from './service-words.ts'

/** The logs of a box as its services write them, while somebody follows. */
export function Logs({ box: { slug, live } }: Readonly<{ box: BoxDetail }>) {
  const { why } = useMay('boxes', 'followLogs')
  const [{ service, tail, line: filter = '' }] = useSearchState()
  const [isFollowing, setFollowing] = useState(false)
  const { lines, note } = useLogs({ slug, service, tail }, isFollowing)
  if (!live) return null
  const text = logText(lines, filter)
  return (
    <Section
      title={words.logs}
      aside={
        <Button why={why} onPress={() => setFollowing(!isFollowing)}>
          {isFollowing ? words.pause : words.follow}
        </Button>
      }
    >
      <div className="toolbar">
        <ChoiceFilter label={words.service} name="service" choices={serviceChoices} />
        <ChoiceFilter label={words.tail} name="tail" choices={tailChoices} none="200 lines" />
        <TextFilter label={words.filter} name="line" />
      </div>
      {note && <p role="status">{note}</p>}
      {lines.length === 0 ? <p className="dim">{isFollowing ? words.noLines : words.idle}</p> : <Lines text={text || words.noMatch} />}
      <LastFailure slug={slug} />
      <CliLine>{`tenantry boxes logs ${slug}${service ? ` --service ${service}` : ''} --follow`}</CliLine>
    </Section>
  )
}

const services: readonly Service[] = ['edge', 'synapse', 'postgres', 'minio']
const serviceChoices = services.map((value) => ({ value, label: value }))
const tailChoices = ['50', '1000'].map((value) => ({ value, label: `${value} lines` }))

/** The lines that an update kept before it was rolled back. */
function LastFailure({ slug }: Readonly<{ slug: string }>) {
  const failure = useQuery(failureQuery(slug)).data?.failure
  if (!failure) return null
  return (
    <p>
      <Link to={`/rollouts/${failure.rolloutId}/boxes/${slug}`}>{words.lastFailure}</Link> <Ago at={failure.at} />
    </p>
  )
}

const failureQuery = (slug: string) =>
  ({ queryKey: ['rollouts', 'failure', slug], queryFn: () => api.rollouts.lastFailure({ params: { slug } }) }) as const

/** Stays at the end while the reader is there. */
function Lines({ text }: Readonly<{ text: string }>) {
  const end = useRef<HTMLSpanElement>(null)
  // biome-ignore lint/correctness/useExhaustiveDependencies: each text may be longer
  useEffect(() => {
    const scroller = end.current?.parentElement
    if (scroller && scroller.scrollHeight - scroller.scrollTop - scroller.clientHeight < nearEndPx)
      scroller.scrollTop = scroller.scrollHeight
  }, [text])
  return (
    <Scroll as="pre" className="log">
      {text}
      <span ref={end} />
    </Scroll>
  )
}

const nearEndPx = 400
/** Lines are shown together, at most this often. */
const frameMs = 250

type Followed = Readonly<{ slug: string; service: string | undefined; tail: string | undefined }>

/** The lines stay when following stops; another choice clears them. */
function useLogs({ slug, service, tail }: Followed, isFollowing: boolean): ShownLogs {
  const [shown, show] = useState(noLogs)
  useEffect(() => {
    if (!isFollowing) return
    const stop = new AbortController()
    let current = noLogs
    let timer: ReturnType<typeof setTimeout> | undefined
    const publish = (next: ShownLogs) => {
      current = next
      timer ??= setTimeout(() => {
        timer = undefined
        show(current)
      }, frameMs)
    }
    show(noLogs)
    const query = { ...(service ? { services: service } : {}), ...(tail ? { lines: Number(tail) } : {}) }
    void followStream(
      {
        open: (lastEventId, signal) =>
          api.boxes.followLogs({ params: { slug }, query }, { signal, ...(lastEventId ? { lastEventId } : {}) }),
        onMessage: ({ data }) => publish(withMessage(current, data)),
        onState: (state) => state === 'away' && publish({ ...current, note: current.note ?? words.reconnecting }),
      },
      stop.signal,
    )
    return () => {
      stop.abort()
      clearTimeout(timer)
    }
  }, [slug, service, tail, isFollowing])
  return shown
}
