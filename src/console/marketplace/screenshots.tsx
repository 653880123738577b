import { useQuery } from '@tanstack/react-query'
import { useEffect, useState } from 'react'
import type { Screenshot } from '../../core/marketplace/index.ts'
import { api, Loaded } from '../kit/index.ts'
import { words } from './words.ts'

/** The cookie counts with a header, which no address of a picture can send: the page reads the bytes. */
function Picture({ id, width, height }: Screenshot) {
  const read = useQuery({
    queryKey: ['marketplace', 'screenshot', id],
    queryFn: async () => new Response(await api.marketplace.readReviewScreenshot({ params: { id } })).blob(),
    staleTime: Number.POSITIVE_INFINITY,
    refetchInterval: false,
  })
  return <Loaded query={read}>{(blob) => <Shown blob={blob} width={width} height={height} />}</Loaded>
}

function Shown({ blob, width, height }: Readonly<{ blob: Blob; width: number; height: number }>) {
  const [url, setUrl] = useState<string>()
  useEffect(() => {
    const made = URL.createObjectURL(blob)
    setUrl(made)
    return () => URL.revokeObjectURL(made)
  }, [blob])
  return url === undefined ? null : (
    <img className="screenshot" src={url} width={width} height={height} alt={words.screenshotOf(width, height)} />
  )
}

export const Screenshots = ({ all }: Readonly<{ all: readonly Screenshot[] }>) => (
  <div className="screenshots">
    {all.map((one) => (
      <Picture key={one.id} {...one} />
    ))}
  </div>
)
