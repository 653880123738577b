import type { UseInfiniteQueryResult } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import { Button } from './controls.tsx'
import { ProblemView } from './states.tsx'
import { useKitTexts } from './texts.tsx'

type PagesProps = Readonly<{
  query: Pick<UseInfiniteQueryResult, 'hasNextPage' | 'isFetchingNextPage' | 'isError' | 'error' | 'fetchNextPage' | 'refetch'>
  children: ReactNode
}>

/** A list that is loaded page by page, with its failure above it. */
export function Pages({ query, children }: PagesProps) {
  const { more } = useKitTexts()
  return (
    <>
      {query.isError && <ProblemView error={query.error} onRetry={() => void query.refetch()} />}
      {children}
      {query.hasNextPage && (
        <p className="after-table">
          <Button onPress={() => void query.fetchNextPage()} isDisabled={query.isFetchingNextPage}>
            {more}
          </Button>
        </p>
      )}
    </>
  )
}
