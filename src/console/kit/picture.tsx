import { useQuery } from '@tanstack/react-query'
import { useEffect, useState } from 'react'
import { Loaded } from './states.tsx'

type Sides = Readonly<{ width: number; height: number; alt: string }>
type PictureProps = Sides & Readonly<{ id: string; read(): Promise<ReadableStream<Uint8Array>> }>

/** A screenshot. The cookie counts with a header, which no address of a picture can send: the page reads the bytes. */
export function Picture({ id, read, ...sides }: PictureProps) {
  const query = useQuery({
    queryKey: ['picture', id],
    queryFn: async () => new Response(await read()).blob(),
    staleTime: Number.POSITIVE_INFINITY,
    refetchInterval: false,
  })
  return <Loaded query={query}>{(blob) => <Shown blob={blob} {...sides} />}</Loaded>
}

function Shown({ blob, alt, ...sides }: Sides & Readonly<{ blob: Blob }>) {
  const [url, setUrl] = useState<string>()
  useEffect(() => {
    const made = URL.createObjectURL(blob)
    setUrl(made)
    return () => URL.revokeObjectURL(made)
  }, [blob])
  return url === undefined ? null : <img className="screenshot" src={url} alt={alt} {...sides} />
}
