#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Builds Gantry without assertions (release, -O3) and prints its costs. Similar programs are
# measured in the same run.
#
# table: one table of all operations: instructions and cache misses (callgrind), nanoseconds, memory of a connection, the main job;
# compared with libmlx5, dma_skeleton, memcpy(3), cp(1) and cmp(1). It takes about 15 minutes. "table:PART" prints a part:
# engine, hwq, dma, transactions, device, memory or programs.
#
# ops, copies, idle: the emulated adapter: 64-byte operations, copies compared with memcpy(3), idle queues.
# wait: the cost of an idle adapter, and the time until it answers.
#
# engine: instructions of the owner of a queue for each operation, by stage.
#
# testgantry: the time to move a file, compared with cp(1) and cmp(1) of the same file, also with busy loops at the same time.
# GANTRY_BENCH_MB (default 1024) is the size of the file, which is in TMPDIR (default /tmp).
#
# signatures: instructions of the thread that posts a signature transaction, by stage: UMR and
# SET_PSVs, RDMA write, fenced SEND, completion. Measured for stock libmlx5, for lib/hwq's batches
# and for its images.
#
# transactions: instructions of the queue's owner for one transaction of the engine, by stage; and
# instructions of libmlx5's calls for the same transaction.
#
# regions: the time of a registration, of a copy from a random region, and of a removal, with 100,
# 1,000, 10,000 and 100,000 regions, the adapter's part included. This takes 400 MB of memory. Then
# the same with 100 and 1,000 regions in a process in which DPDK's mlx4 plug-in has called
# ibv_fork_init(3).
#
# plots: throughput against queue depth, burst, copy length, regions, peers and lcores, with memcpy(3) and DPDK's
# dma_skeleton in the same run: throughput.csv and a picture for each axis, in GANTRY_BENCH_OUT (default
# build-bench/throughput).
#
# pipelining: transactions with signature pipelining compared with transactions that wait, on the adapter's timing model and a virtual
# clock: pipelining.csv and pictures, in GANTRY_BENCH_OUT (default build-bench/pipelining). It takes some minutes.
#
# dmadev: copies by the dmadev driver, by length, with dma_skeleton and memcpy(3); the submitting thread pumps the adapter:
# dmadev.csv with instructions (callgrind), and a picture, in GANTRY_BENCH_OUT (default build-bench/dmadev).
#
# pause: the time of one copy of 64 bytes after a pause of 200 us, by a worker that spins, with dma_skeleton in the same run:
# first each lcore has its own CPU, then both lcores may run on the same two CPUs.
#
# wire: two processes that reach each other through the adapter, by device threads and by softhca_pump(): the latency of 64 bytes
# and the throughput of writes, compared with a SOCK_SEQPACKET socket and memcpy(3) in the same run. If a bound is missed, the
# table says so, and the exit code is 1. On one CPU there is no bound.
#
# crypto: messages of 64 KiB through a key that encrypts, in data units of 4 KiB, compared with OpenSSL.
#
# usage: usertools/bench.sh [table|ops|copies|crypto|idle|wait|pause|wire|signatures|engine|transactions|regions|testgantry|plots|dmadev|pipelining]...
# default: all of them
set -euo pipefail
. "$(dirname "$0")/common.sh"

help_if_asked "$@"

need "${build_packages[@]}" valgrind
say "building in build-bench/"
# Debug information changes no instruction. callgrind reads the source file of each instruction from
# it.
build build-bench -Dbuildtype=release -Ddebug=true
bench=$top/build-bench/test/bench/bench_softhca
bench_signature=$top/build-bench/test/bench/bench_signature
bench_idle=$top/build-bench/test/bench/bench_idle
bench_gantry=$top/build-bench/test/bench/bench_gantry
bench_txn=$top/build-bench/test/bench/bench_txn
bench_dma=$top/build-bench/test/bench/bench_dma

# The cost of an idle adapter, and the time until it answers. Other work on the machine changes both, so its
# load is printed too.
waiting() {
	printf '%s CPUs; load of the last minute %s\n' "$(nproc)" "$(cut -d ' ' -f 1 /proc/loadavg)"
	"$bench_idle"
}

# Other work on the machine changes these figures too, for Gantry and for dma_skeleton alike.
pause() {
	local how
	printf '%s CPUs; load of the last minute %s\n' "$(nproc)" "$(cut -d ' ' -f 1 /proc/loadavg)"
	for how in own shared; do
		"$top/build-bench/test/bench/bench_pause" "$how" 2>/dev/null || die "bench_pause $how failed"
	done
}

wire() {
	local threads missed=0
	for threads in 1 0; do
		SOFTHCA_THREADS=$threads "$top/build-bench/test/bench/bench_wire" check || missed=1
	done
	[ "$missed" = 0 ] || die "bench_wire: a bound was missed"
}

# The first steps of a transaction are also measured alone, because the figure of a stage is the
# difference of two measurements.
signatures() {
	local out burst
	out=$(mktemp)
	printf 'instructions per signature transaction on the thread that posts it (callgrind)\n'
	printf '  %-10s %5s %9s %9s %9s %9s %9s %11s\n' '' burst configure transfer response completion all 'of libmlx5'
	for burst in 1 16; do
		SOFTHCA_THREADS=0 valgrind --tool=callgrind --callgrind-out-file="$out" \
			--toggle-collect='measured_*' "$bench_signature" "$burst" \
			>"$out.ops" 2>/dev/null || die "callgrind failed at bursts of $burst"
		callgrind_annotate --inclusive=yes --threshold=100 "$out" |
			awk -v burst="$burst" 'NR == FNR {ops[$1] = $2; next}
				match($0, /measured_[a-z0-9_]+/) {
					name = substr($0, RSTART, RLENGTH); n = $1; gsub(",", "", n)
					if (name in ops && n / ops[name] > cost[name]) cost[name] = n / ops[name]
				}
				function row(text, by, done,   of, all) {
					of = "measured_" by "_"
					all = cost[of "all"] + cost[done]
					if (by == "stock") theirs = all
					printf "  %-10s %5d %9.1f %9.1f %9.1f %9.1f %9.1f %9.0f %%\n", text, burst,
						cost[of "configure"], cost[of "transfer"] - cost[of "configure"],
						cost[of "all"] - cost[of "transfer"], cost[done], all, 100 * all / theirs
				}
				END {
					row("libmlx5", "stock", "measured_stock_done")
					row("hwq batch", "wr", "measured_hwq_done")
					row("hwq image", "image", "measured_hwq_done")
				}' "$out.ops" -
	done
	rm -f "$out" "$out.ops"
}

# Prints the stages of one case of bench_gantry, per operation at a burst size.
engine_case() {
	local out ops
	out=$(mktemp)
	ops=$(SOFTHCA_THREADS=0 valgrind --tool=callgrind --instr-atstart=no --callgrind-out-file="$out" \
		--toggle-collect='measured_*' "$bench_gantry" count "$2" "$1" 2>/dev/null) ||
		die "callgrind failed on $1 at bursts of $2"
	printf '  %-44s %5s%s\n' "$3" "$2" "$(engine_stages "$out" "$ops")"
	rm -f "$out"
}

# A stage is the source file of the instructions. $1: the output of callgrind.
engine_stages() {
	callgrind_annotate --auto=no --threshold=100 "$1" |
		awk -v ops="$2" 'match($0, /[a-z0-9_]+\.[ch]:/) {
				file = substr($0, RSTART, RLENGTH); n = $1; gsub(",", "", n)
				stage = file ~ /^gantry_(ring_end|worker|defer)/ ? 1 : \
					file ~ /^gantry_(region|drain)/ ? 2 : \
					file ~ /^gantry_(run|issue|submit|xlate|policy|cpu|burst|each|rule|layout_run|fill|lists|key_cache)/ ? 3 : \
					file ~ /^(gantry_work|hwq_burst|hwq_seg|hwq_wqe|byteswap)/ ? 4 : \
					file ~ /^(gantry_doorbell|hwq_db)/ ? 5 : \
					file ~ /^hwq_[cs]q/ ? 6 : \
					file ~ /^gantry_(complete|finish)/ ? 7 : file ~ /^bench_/ ? 9 : 8
				cost[stage] += n
			}
			END {for (stage = 1; stage <= 8; stage++) printf " %8.1f", cost[stage] / ops}'
}

engine() {
	local name what
	printf 'instructions per 64-byte operation on the thread that owns the queue, by the files that they were written in\n'
	printf '  %-44s %5s %8s %8s %8s %8s %8s %8s %8s %8s\n' '' burst rings regions submit WQEs doorbell CQEs 'hand out' others
	"$bench_gantry" list | while IFS=$'\t' read -r name what; do
		engine_case "$name" 32 "$what"
		engine_case "$name" 1 "$what"
	done
}

# table [PART]: prints one part of the table, or all parts.
table() {
	"$top/test/bench/table.py" "$top/build-bench" "$@"
}

# Runs a case of bench_txn. Writes the output of callgrind to $out, and the output of the program to
# $out.ops.
txn_run() {
	SOFTHCA_THREADS=0 SOFTHCA_CRYPTO=plaintext valgrind --tool=callgrind --dump-instr=yes --callgrind-out-file="$out" \
		--toggle-collect='measured_*' "$bench_txn" "$1" "$2" "$3" >"$out.ops" 2>/dev/null ||
		die "callgrind failed on transactions of $1 bytes at bursts of $2: $3"
}

# Instructions of libmlx5, by stage: a stage is the difference of two measurements.
txn_stock() {
	txn_run "$1" "$2" stock
	callgrind_annotate --inclusive=yes --threshold=100 "$out" |
		awk 'NR == FNR {ops[$1] = $2; next}
			match($0, /measured_[a-z0-9_]+/) {
				name = substr($0, RSTART + 9, RLENGTH - 9); n = $1; gsub(",", "", n)
				if (n / ops["measured_" name] > cost[name]) cost[name] = n / ops["measured_" name]
			}
			END {
				print 0, cost["stock_configure"], cost["stock_transfer"] - cost["stock_configure"],
					cost["stock_all"] - cost["stock_transfer"], 0, cost["stock_done"], 0
			}' "$out.ops" -
}

# Instructions of the engine in a case, by stage: a stage is a set of functions.
txn_engine() {
	txn_run "$1" "$2" "$3"
	"$top/test/bench/stages.py" "$bench_txn" "$out" bench='measured_*' \
		check='takes,run_begin,gantry_txn_desc_is_good,gantry_txn_plain_profile,gantry_txn_check,look_further' \
		key='hwq_burst_sig_*' transfer='hwq_burst_rdma_with,put_moves' response='hwq_burst_send*' \
		doorbell='gantry_ring,hwq_sq_signal_and_ring,gantry_note_*,gantry_conn_set_*' completion='gantry_take_*,gantry_hand_out*,gantry_poll*' |
		awk 'NR == FNR {ops = $2; next}
			{cost[$1] = $2 / ops}
			END {
				print cost["check"], cost["key"], cost["transfer"], cost["response"], cost["doorbell"], cost["completion"],
					cost["others"]
			}' "$out.ops" -
}

# txn_row NAME BLOCK BURST THEIRS: two lines from "CHECK KEY TRANSFER RESPONSE DOORBELL COMPLETION STATES".
txn_row() {
	awk -v name="$1" -v block="$2" -v burst="$3" -v theirs="$4" '{
		all = $1 + $2 + $3 + $4 + $5 + $6 + $7
		printf "  %-14s %5d %5d", name, block, burst
		for (i = 1; i <= 7; i++) printf " %10s", ($i > 0 ? sprintf("%.1f", $i) : "")
		printf " %8.1f %s\n  %-26s", all, (theirs > 0 ? sprintf("%9.0f %%", 100 * all / theirs) : ""), ""
		for (i = 1; i <= 7; i++) printf " %10s", ($i > 0 ? sprintf("%.0f %%", 100 * $i / all) : "")
		printf "\n"
	}'
}

transactions() {
	local out block burst stock theirs
	out=$(mktemp)
	printf 'instructions per transaction on the thread that owns the queue, 16 open at once (callgrind)\n'
	printf '  %-14s %5s %5s %10s %10s %10s %10s %10s %10s %10s %8s %11s\n' '' block burst check key transfer response doorbell \
		completion states all 'of libmlx5'
	for block in 512 4096; do
		for burst in 16 1; do
			stock=$(txn_stock "$block" "$burst")
			theirs=$(awk '{print $2 + $3 + $4 + $6}' <<<"$stock")
			txn_row libmlx5 "$block" "$burst" 0 <<<"$stock"
			txn_engine "$block" "$burst" engine | txn_row engine "$block" "$burst" "$theirs"
			txn_engine "$block" "$burst" two | txn_row 'two transfers' "$block" "$burst" 0
		done
	done
	rm -f "$out" "$out.ops"
}

# The program's messages are printed only if it fails.
regions() {
	local log=$top/build-bench/regions.log
	{
		SOFTHCA_THREADS=0 "$top/build-bench/test/test_gantry_many_regions" 100000 &&
			echo "with ibv_fork_init() of DPDK's mlx4 plug-in, without gantry_before_eal():" &&
			SOFTHCA_THREADS=0 "$top/build-bench/test/test_gantry_many_regions" 1000 fork_init
	} 2>"$log" || {
		tail -n 5 "$log" >&2
		die "the run failed; the end of its output is above"
	}
}

# seconds COMMAND...: prints the run time, to a millisecond. The command's output is written to
# $scratch/log.
seconds() {
	local start=${EPOCHREALTIME/./}
	"$@" >"$scratch/log" 2>&1 || { cat "$scratch/log" >&2; die "failed: $*"; }
	awk -v us=$((${EPOCHREALTIME/./} - start)) 'BEGIN {printf "%.3f", us / 1e6}'
}

# Reads numbers, one on each line. Prints the smallest, the median and the largest number.
spread() {
	sort -n | awk '{v[NR] = $1} END {printf "%s %s %s\n", v[1], v[int((NR + 1) / 2)], v[NR]}'
}

# Uses as many lcores as two CPUs allow, and the defaults of testgantry.
move_file() {
	seconds "$top/build-bench/app/testgantry/testgantry" --lcores=0@0,1@$((1 % $(nproc))) --no-huge --no-shconf \
		--no-telemetry -m 64 -- --out "$scratch/out" "$scratch/in"
	rm -rf "$scratch/out"
}

# cp, cmp and testgantry run in turn, so that other work on the machine affects all three.
compare_files() {
	local runs=$1 i cp cmp moved
	printf '  %12s %12s %12s %22s\n' cp cmp testgantry 'testgantry/(cp + cmp)'
	for ((i = 0; i < runs; i++)); do
		cp=$(seconds cp --reflink=never "$scratch/in" "$scratch/copy")
		cmp=$(seconds cmp "$scratch/in" "$scratch/copy")
		rm "$scratch/copy"
		moved=$(move_file)
		awk -v c="$cp" -v m="$cmp" -v t="$moved" \
			'BEGIN {printf "  %10.3f s %10.3f s %10.3f s %22.2f\n", c, m, t, t / (c + m)}'
		printf '%s\n' "$moved" >>"$scratch/moved"
		awk -v c="$cp" -v m="$cmp" -v t="$moved" 'BEGIN {print t / (c + m)}' >>"$scratch/ratios"
	done
	read -r least median most <<<"$(spread <"$scratch/ratios")"
	printf '  ratio: median %.2f, least %.2f, most %.2f\n' "$median" "$least" "$most"
	read -r least median most <<<"$(spread <"$scratch/moved")"
	printf '  testgantry: median %s s, longest %s s, longest/median %s\n' "$median" "$most" \
		"$(awk -v a="$most" -v b="$median" 'BEGIN {printf "%.2f", a / b}')"
	rm "$scratch/moved" "$scratch/ratios"
}

testgantry() {
	local mb=${GANTRY_BENCH_MB:-1024} i busy=()
	scratch=$(mktemp -d "${TMPDIR:-/tmp}/gantry-bench.XXXXXX")
	trap 'kill "${busy[@]}" 2>/dev/null || true; rm -rf "$scratch"' EXIT
	head -c "${mb}M" /dev/urandom >"$scratch/in"
	printf 'moving and verifying a file of %s MiB; it is in the page cache; %s CPUs\n' "$mb" "$(nproc)"
	compare_files 9
	for i in 1 2; do
		(while :; do :; done) &
		busy+=($!)
	done
	printf 'the same with two busy loops running\n'
	compare_files 20
	kill "${busy[@]}"
	rm -rf "$scratch"
	trap - EXIT
}

plots() {
	local out=${GANTRY_BENCH_OUT:-$top/build-bench/throughput} log=$top/build-bench/throughput.log
	python3 -c 'import matplotlib' 2>/dev/null || need python3-matplotlib
	mkdir -p "$out"
	"$top/build-bench/test/bench/bench_throughput" >"$out/throughput.csv" 2>"$log" || {
		tail -n 5 "$log" >&2
		die "the run failed; the end of its output is above"
	}
	"$top/usertools/plot.py" "$out/throughput.csv" "$out"
	printf 'throughput: %s/throughput.csv, and a picture for each axis\n' "$out"
}

# Instructions of the submitting thread for each copy of $2 bytes, from enqueuing to completion, in bursts of 32.
dma_count() {
	local out=$top/build-bench/dma.callgrind n
	n=$(SOFTHCA_THREADS=0 valgrind --tool=callgrind --callgrind-out-file="$out" --toggle-collect='measured_*' \
		"$bench_dma" count "$1" 32 "$2" 2>/dev/null) || die "callgrind failed on $1, $2 bytes"
	awk -v n="$n" '/^(summary|totals):/ {all = $2} END {printf "%.1f\n", all / n}' "$out"
}

dmadev() {
	local out=${GANTRY_BENCH_OUT:-$top/build-bench/dmadev} log=$top/build-bench/dmadev.log row series length
	python3 -c 'import matplotlib' 2>/dev/null || need python3-matplotlib
	mkdir -p "$out"
	SOFTHCA_THREADS=0 "$bench_dma" times 2>"$log" >"$log.csv" || {
		tail -n 5 "$log" >&2
		die "the run failed; the end of its output is above"
	}
	while IFS= read -r row; do
		IFS=, read -r _ length series _ <<<"$row"
		case $series in
		series) printf '%s,instructions\n' "$row" ;;
		memcpy) printf '%s,\n' "$row" ;;
		*) printf '%s,%s\n' "$row" "$(dma_count "${series#dma_}" "$length")" ;;
		esac
	done <"$log.csv" >"$out/dmadev.csv"
	"$top/usertools/plot.py" "$out/dmadev.csv" "$out"
	awk -F, 'NR == 1 {
			print "| bytes | million/s: dma_mlx5 | dma_skeleton | memcpy | of memcpy: dma_mlx5 | dma_skeleton | instructions: dma_mlx5 | dma_skeleton |"
			print "|---|---|---|---|---|---|---|---|"; next
		}
		{rate[$3] = $8 / 1e6; part[$3] = 100 * $10; count[$3] = $11}
		$3 == "dma_skeleton" {
			printf "| %d | %.3f | %.3f | %.3f | %.0f %% | %.0f %% | %.0f | %.0f |\n", $2, rate["dma_mlx5"], rate[$3], rate["memcpy"], \
				part["dma_mlx5"], part[$3], count["dma_mlx5"], count[$3]
		}' "$out/dmadev.csv"
	printf 'dmadev: %s/dmadev.csv, and a picture\n' "$out"
}

# The table of doc/transactions.md, for the first round trip. Each cell has two values: pipelined,
# waiting.
pipelining_table() {
	awk -F, 'NR == 1 {for (i = 1; i <= NF; i++) at[$i] = i; next}
		NR == 2 {trip = $1}
		$1 != trip {next}
		{
			row = $at["op"] "," $at["qps"] "," $at["depth"]; wrong = $at["bad_percent"]; mode = $at["mode"]
			median[row, wrong, mode] = $at["response_median_us"]; most[row, wrong, mode] = $at["response_p99_us"]
			rate[row, wrong, mode] = $at["per_second"] / 1e6
		}
		function us(of, row, wrong) {
			return sprintf("%.1f, %.1f", of[row, wrong, "pipelined"], of[row, wrong, "waiting"])
		}
		function rates(row, wrong) {
			return sprintf("%.2f, %.2f", rate[row, wrong, "pipelined"], rate[row, wrong, "waiting"])
		}
		END {
			print "| | open at once | median, us | 99 %, us | million/s | 1 % wrong: 99 %, us | million/s | 20 % wrong: million/s |"
			print "|---|---|---|---|---|---|---|---|"
			for (op = 0; op < 2; op++)
				for (qps = 1; qps <= 4; qps *= 4)
					for (depth = 1; depth <= 64; depth *= 2) {
						name = op == 0 ? "write" : "read"
						row = name "," qps "," depth
						name = depth > 1 ? "" : name ", " qps " QP"
						printf "| %s | %d | %s | %s | %s | %s | %s | %s |\n", name, depth, \
							us(median, row, 0), us(most, row, 0), rates(row, 0), us(most, row, 1), rates(row, 1), rates(row, 20)
					}
		}' "$1"
}

# A round trip of 2 us with a host delay of 1 us, as in a rack; and a round trip of 20 us with a
# host delay of 5 us.
pipelining() {
	local out=${GANTRY_BENCH_OUT:-$top/build-bench/pipelining} log=$top/build-bench/pipelining.log times
	python3 -c 'import matplotlib' 2>/dev/null || need python3-matplotlib
	mkdir -p "$out"
	for times in '2000 1000' '20000 5000'; do
		# shellcheck disable=SC2086  # two words
		"$top/build-bench/test/bench/bench_pipelining" $times 2>"$log" || {
			tail -n 5 "$log" >&2
			die "the run failed; the end of its output is above"
		}
	done | awk 'NR == 1 || !/^round/' >"$out/pipelining.csv"
	"$top/usertools/plot.py" "$out/pipelining.csv" "$out"
	pipelining_table "$out/pipelining.csv"
	printf 'pipelining: %s/pipelining.csv, and pictures\n' "$out"
}

[ $# -gt 0 ] || set -- table ops copies crypto idle wait pause wire signatures engine transactions regions testgantry plots dmadev pipelining
for what in "$@"; do
	case $what in
	ops | copies | idle) "$bench" "$what" ;;
	crypto) "$top/build-bench/test/bench/bench_crypto" ;;
	wait) waiting ;;
	table:*) table "${what#table:}" ;;
	table | pause | wire | signatures | engine | transactions | regions | testgantry | plots | dmadev | pipelining) "$what" ;;
	*) die "unknown '$what': usertools/bench.sh --help lists all" ;;
	esac
done
