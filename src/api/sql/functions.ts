/**
 * What functions a query may use. Chosen by hand from `system.functions` of ClickHouse 26.7: none reads a file, a table, a
 * dictionary or a setting, reaches the network, waits, tells of the server, or takes the name of another function.
 * A name that an older server does not have is refused by that server.
 */

const AGGREGATES = `
  any any_respect_nulls any_value any_value_respect_nulls anyHeavy anyLast anyLast_respect_nulls anyLastRespectNulls
  anyRespectNulls anyValueRespectNulls approx_top_count approx_top_k approx_top_sum argAndMax argAndMin argMax
  argMin array_agg avg avgWeighted BIT_AND BIT_OR BIT_XOR corr count COVAR_POP COVAR_SAMP covarPop covarSamp
  cume_dist deltaSum deltaSumTimestamp dense_rank denseRank entropy first_value first_value_respect_nulls
  firstValueRespectNulls group_concat groupArray groupArrayInsertAt groupArrayIntersect groupArrayLast
  groupArrayMovingAvg groupArrayMovingSum groupArraySample groupArraySorted groupBitAnd groupBitOr groupBitXor
  groupConcat groupUniqArray histogram intervalLengthSum kurtPop kurtSamp lag lagInFrame last_value
  last_value_respect_nulls lastValueRespectNulls lead leadInFrame max max_by maxIntersections
  maxIntersectionsPosition maxMappedArrays median medianDD medianDeterministic medianExact medianExactHigh
  medianExactLow medianExactWeighted medianExactWeightedInterpolated medianGK medianInterpolatedWeighted
  medianTDigest medianTDigestWeighted medianTiming medianTimingWeighted min min_by minMappedArrays
  nonNegativeDerivative nth_value ntile percent_rank percentRank quantile quantileDD quantileDeterministic
  quantileExact quantileExactExclusive quantileExactHigh quantileExactInclusive quantileExactLow
  quantileExactWeighted quantileExactWeightedInterpolated quantileGK quantileInterpolatedWeighted quantiles
  quantilesDD quantilesDeterministic quantilesExact quantilesExactExclusive quantilesExactHigh
  quantilesExactInclusive quantilesExactLow quantilesExactWeighted quantilesExactWeightedInterpolated quantilesGK
  quantilesInterpolatedWeighted quantilesTDigest quantilesTDigestWeighted quantilesTiming quantilesTimingWeighted
  quantileTDigest quantileTDigestWeighted quantileTiming quantileTimingWeighted rank rankCorr retention row_number
  simpleLinearRegression singleValueOrNull skewPop skewSamp STD STDDEV STDDEV_POP STDDEV_SAMP stddevPop stddevSamp
  string_agg sum sumCount sumKahan sumMappedArrays topK topKWeighted uniq uniqCombined uniqCombined64 uniqExact
  uniqHLL12 uniqUpTo VAR_POP VAR_SAMP varPop varSamp
`;

const OTHERS = `
  abs accurateCast accurateCastOrNull acos addDate addDays addHours addMicroseconds addMilliseconds addMinutes
  addMonths addNanoseconds addQuarters addSeconds addWeeks addYears age and appendTrailingCharIfAbsent array
  array_remove array_to_string arrayAll arrayAvg arrayCompact arrayConcat arrayCount arrayCumSum
  arrayCumSumNonNegative arrayDifference arrayDistinct arrayDotProduct arrayElement arrayElementOrNull
  arrayEnumerate arrayEnumerateDense arrayEnumerateDenseRanked arrayEnumerateUniq arrayEnumerateUniqRanked
  arrayExcept arrayExists arrayFill arrayFilter arrayFirst arrayFirstIndex arrayFirstOrNull arrayFlatten arrayFold
  arrayIntersect arrayJoin arrayLast arrayLastIndex arrayLastOrNull arrayMap arrayMax arrayMin arrayPopBack
  arrayPopFront arrayProduct arrayPushBack arrayPushFront arrayRemove arrayResize arrayReverse arrayReverseFill
  arrayReverseSort arrayReverseSplit arrayRotateLeft arrayRotateRight arrayShiftLeft arrayShiftRight arraySlice
  arraySort arraySplit arrayStringConcat arraySum arraySymmetricDifference arrayUnion arrayUniq arrayWithConstant
  arrayZip arrayZipUnaligned ascii asin assumeNotNull atan atan2 avg2 bar base32Decode base32Encode base58Decode
  base58Encode base64Decode base64Encode base64URLDecode base64URLEncode bin bitAnd bitCount bitNot bitOr
  bitRotateLeft bitRotateRight bitShiftLeft bitShiftRight bitSlice bitTestAll bitTestAny bitXor byteSlice
  CARDINALITY caseWithExpression caseWithoutExpr caseWithoutExpression CAST cbrt ceil ceiling changeDay changeHour
  changeMinute changeMonth changeSecond changeYear char CHAR_LENGTH CHARACTER_LENGTH cityHash64 clamp coalesce
  concat concat_ws concatAssumeInjective concatWithSeparator concatWithSeparatorAssumeInjective cos countEqual
  countMatches countSubstrings curdate current_date current_timestamp DATE date_bin DATE_DIFF date_diff DATE_FORMAT
  DATE_TRUNC dateDiff dateName dateTrunc DAY DAYOFMONTH DAYOFWEEK DAYOFYEAR decodeURLComponent degrees divide
  divideDecimal divideOrNull domain e empty endsWith equals  exp exp10 exp2 extract extractAll
  extractAllGroups extractAllGroupsHorizontal extractAllGroupsVertical extractGroups extractURLParameter flatten
  floor FORMAT_BYTES formatDateTime formatReadableQuantity formatReadableSize formatReadableTimeDelta FROM_BASE64
  FROM_UNIXTIME fromUnixTimestamp fromUnixTimestamp64Micro fromUnixTimestamp64Milli fromUnixTimestamp64Nano
  fromUnixTimestamp64Second gcd greater greaterOrEquals greatest has hasAll hasAny hasSubstr hasToken
  hasTokenOrNull hex HOUR identity if ifNotFinite ifNull ilike in indexOf indexOfAssumeSorted instr intDiv
  intDivOrNull intDivOrZero isASCII isDistinctFrom isFinite isInfinite isNaN isNotDistinctFrom isNotNull isNull
  isNullable isValidASCII isValidJSON isValidUTF8 isZeroOrNull JSON_ARRAY_LENGTH JSONArrayLength JSONExtract
  JSONExtractArrayRaw JSONExtractBool JSONExtractFloat JSONExtractInt JSONExtractKeys JSONExtractKeysAndValues
  JSONExtractKeysAndValuesRaw JSONExtractRaw JSONExtractString JSONExtractUInt JSONHas JSONLength JSONType keccak256
  LAST_DAY lcase lcm least left leftPad leftUTF8 length lengthUTF8 less lessOrEquals like ln localtimestamp log
  log10 log1p log2 lower lowerUTF8 lpad ltrim makeDate makeDate32 makeDateTime makeDateTime64 map MAP_FROM_ARRAYS
  mapAdd mapAll mapApply mapConcat mapContains mapContainsKey mapContainsKeyLike mapContainsValue
  mapContainsValueLike mapExists mapFilter mapFromArrays mapKeys mapReverseSort mapSort mapSubtract mapUpdate
  mapValues match max2 MD5 MICROSECOND mid MILLISECOND min2 minus MINUTE mod modOrNull modulo moduloOrNull
  moduloOrZero MONTH monthName multiIf multiply multiplyDecimal NANOSECOND negate not notEmpty notEquals notILike
  notIn notLike notNullIn now nullIf nullIn OCTET_LENGTH or parseDateTime parseDateTimeBestEffort
  parseDateTimeBestEffortOrNull parseDateTimeBestEffortOrZero parseDateTimeOrNull parseDateTimeOrZero path pi plus
  pmod pmodOrNull position positionCaseInsensitive positive_modulo positive_modulo_or_null positiveModulo
  positiveModuloOrNull pow power protocol QUARTER queryString radians range REGEXP_EXTRACT REGEXP_MATCHES
  REGEXP_REPLACE REGEXP_SUBSTR regexpExtract regexpQuoteMeta reinterpretAsFixedString reinterpretAsInt128
  reinterpretAsInt16 reinterpretAsInt256 reinterpretAsInt32 reinterpretAsInt64 reinterpretAsInt8 reinterpretAsString
  reinterpretAsUInt128 reinterpretAsUInt16 reinterpretAsUInt256 reinterpretAsUInt32 reinterpretAsUInt64
  reinterpretAsUInt8 repeat replace replaceAll replaceOne replaceRegexpAll replaceRegexpOne reverse
  reverseBySeparator reverseUTF8 right rightPad rightUTF8 round roundBankers roundDown roundToExp2 rpad rtrim SECOND
  SHA256 SHA512 sign sin sipHash64 space splitByChar splitByNonAlpha splitByRegexp splitByString splitByWhitespace
  sqr sqrt startsWith str_to_date subDate substr substring SUBSTRING_INDEX substringIndex substringUTF8 subtractDays
  subtractHours subtractMicroseconds subtractMilliseconds subtractMinutes subtractMonths subtractNanoseconds
  subtractQuarters subtractSeconds subtractWeeks subtractYears tan time_bucket timeDiff timeSlot timeSlots
  TIMESTAMP_DIFF timestamp_diff timestampDiff TO_BASE64 TO_UNIXTIME toBool toDate toDate32 toDate32OrNull
  toDate32OrZero toDateOrNull toDateOrZero toDateTime toDateTime32 toDateTime64 toDateTime64OrZero toDateTimeOrNull
  toDateTimeOrZero today toDayOfMonth toDayOfWeek toDayOfYear toDaysInMonth toDecimal128 toDecimal128OrNull
  toDecimal128OrZero toDecimal256 toDecimal256OrNull toDecimal256OrZero toDecimal32 toDecimal32OrNull
  toDecimal32OrZero toDecimal64 toDecimal64OrNull toDecimal64OrZero toDecimalString toFixedString toFloat32
  toFloat32OrNull toFloat32OrZero toFloat64 toFloat64OrNull toFloat64OrZero toHour toInt128 toInt128OrNull
  toInt128OrZero toInt16 toInt16OrNull toInt16OrZero toInt256 toInt256OrNull toInt256OrZero toInt32 toInt32OrNull
  toInt32OrZero toInt64 toInt64OrNull toInt64OrZero toInt8 toInt8OrNull toInt8OrZero toInterval toIntervalDay
  toIntervalHour toIntervalMicrosecond toIntervalMillisecond toIntervalMinute toIntervalMonth toIntervalNanosecond
  toIntervalQuarter toIntervalSecond toIntervalWeek toIntervalYear toISOWeek toISOYear toJSONString tokens
  toLastDayOfMonth toLastDayOfWeek toLowCardinality toMicrosecond toMillisecond toMinute toMonday toMonth
  toMonthNumSinceEpoch toNanosecond toNullable toQuarter toRelativeDayNum toRelativeHourNum toRelativeMinuteNum
  toRelativeMonthNum toRelativeQuarterNum toRelativeSecondNum toRelativeWeekNum toRelativeYearNum toSecond
  toStartOfDay toStartOfFifteenMinutes toStartOfFiveMinute toStartOfFiveMinutes toStartOfHour toStartOfInterval
  toStartOfISOYear toStartOfMicrosecond toStartOfMillisecond toStartOfMinute toStartOfMonth toStartOfNanosecond
  toStartOfQuarter toStartOfSecond toStartOfTenMinutes toStartOfWeek toStartOfYear toString toStringCutToZero
  toTypeName toUInt128 toUInt128OrNull toUInt128OrZero toUInt16 toUInt16OrNull toUInt16OrZero toUInt256
  toUInt256OrNull toUInt256OrZero toUInt32 toUInt32OrNull toUInt32OrZero toUInt64 toUInt64OrNull toUInt64OrZero
  toUInt8 toUInt8OrNull toUInt8OrZero toUnixTimestamp toUnixTimestamp64Micro toUnixTimestamp64Milli
  toUnixTimestamp64Nano toUnixTimestamp64Second toValidUTF8 toWeek toYear toYearNumSinceEpoch toYearWeek toYYYYMM
  toYYYYMMDD toYYYYMMDDhhmmss transform trim trimBoth trimLeft trimRight trunc truncate tryBase32Decode
  tryBase58Decode tryBase64Decode tryBase64URLDecode tuple tupleElement tupleNames ucase unbin unhex unnest upper
  upperUTF8 week xor xxHash32 xxHash64 xxHash64Spark YEAR yearweek yesterday
`;

/** As the parser writes what has no name in the text: casts, lambdas. */
const WRITTEN_BY_THE_PARSER = ['_CAST', 'exists', 'grouping', 'lambda'];

/** Endings that make an aggregate function another one. Those that make states or take functions by name are left out. */
const ENDINGS = ['If', 'Distinct', 'OrNull', 'Array', 'ArrayIf', 'DistinctIf', 'OrNullIf', 'IfOrNull'];

const lower = (words: string): string[] => words.trim().toLowerCase().split(/\s+/);

const aggregates = lower(AGGREGATES);

/**
 * In lower case: the server has no two functions whose names differ by that alone, one of them here
 * (functions.test.ts).
 */
const allowed: ReadonlySet<string> = new Set([
  ...aggregates,
  ...aggregates.flatMap((name) => ENDINGS.map((ending) => name + ending.toLowerCase())),
  ...lower(OTHERS),
  ...WRITTEN_BY_THE_PARSER.map((name) => name.toLowerCase()),
]);

/** Whether a query may call the function. */
export function isAllowed(name: string): boolean {
  return allowed.has(name.toLowerCase());
}

/** All of them, for the schema: without those with endings. */
export const FUNCTIONS: readonly string[] = `${AGGREGATES} ${OTHERS}`.trim().split(/\s+/).sort();
