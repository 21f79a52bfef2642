#!/usr/bin/env bash
# Makes the corpus and its truth with ffmpeg: `./make.sh`. The files are stored, so tests need no ffmpeg.
#
# truth.tsv: file, rate, length, samples that ffmpeg's decoder gives out, samples that went into the
# encoder. The length is what the decoder gives out, with one exception. Lossy formats add samples at both
# ends, and where a file says how many (`says=both`), or how many at its end (`says=end`, with the 1024
# samples of AAC's start left in), the length is without them, though this ffmpeg plays some of them.
set -euo pipefail
cd "$(dirname "$0")"
rm -f -- *.wav *.mp3 *.mp2 *.flac *.ogg *.opus *.oga *.spx *.aac *.m4a *.mp4 *.mov *.webm *.mka *.mkv truth.tsv

quiet=(-hide_banner -loglevel error -nostdin -y)
# The same bytes every time, as far as an encoder can.
plain=(-map_metadata -1 -fflags +bitexact -flags:a +bitexact)

# truth file rate meant [stream]: what ffmpeg decodes.
truth() {
  local decoded
  decoded=$(($(ffmpeg "${quiet[@]}" -i "$1" -map "${4:-0:a:0}" -ac 1 -f s16le - | wc -c) / 2))
  case ${says:-} in
    both) length=$3 ;;
    end) length=$(($3 + 1024)) ;;
    *) length=$decoded ;;
  esac
  printf '%s\t%s\t%s\t%s\t%s\n' "$1" "$2" "$length" "$decoded" "$3" >>truth.tsv
}

# tone file rate samples words…: a tone of so many samples, encoded with these words of ffmpeg.
tone() {
  local file=$1 rate=$2 samples=$3
  shift 3
  ffmpeg "${quiet[@]}" -f lavfi -i "sine=frequency=440:sample_rate=$rate,atrim=end_sample=$samples" \
    "${plain[@]}" "$@" "$file"
  truth "$file" "$rate" "$samples"
}

# opus_tone file samples words…: the same at 48 kHz, which Opus counts in.
opus_tone() {
  local file=$1 samples=$2
  shift 2
  tone "$file" 48000 "$samples" -c:a libopus -b:a 12k "$@"
}

# Wave files, bare and not quite.
tone pcm-u8.wav 8000 1600 -c:a pcm_u8
tone pcm-s16.wav 8000 1601 -c:a pcm_s16le
tone pcm-s24.wav 8000 1600 -c:a pcm_s24le
tone pcm-s32.wav 8000 800 -c:a pcm_s32le
tone pcm-f32.wav 8000 800 -c:a pcm_f32le
tone pcm-f64.wav 8000 400 -c:a pcm_f64le
tone pcm-stereo.wav 8000 800 -c:a pcm_s16le -ac 2
tone a-law.wav 8000 2000 -c:a pcm_alaw
tone mu-law.wav 8000 2000 -c:a pcm_mulaw
tone ima.wav 8000 4200 -c:a adpcm_ima_wav
tone ms-adpcm.wav 8000 4000 -c:a adpcm_ms
tone rf64.wav 8000 800 -c:a pcm_s16le -rf64 always
tone wave64.wav 8000 801 -c:a pcm_s16le -f w64
tone mp3-inside.wav 16000 8000 -c:a libmp3lame -b:a 16k
tone mp3-short.wav 16000 100 -c:a libmp3lame -b:a 16k
tone one-sample.wav 8000 1 -c:a pcm_s16le

# MPEG audio.
tone cbr.mp3 44100 44100 -c:a libmp3lame -b:a 32k
tone vbr.mp3 44100 92610 -c:a libmp3lame -q:a 9
tone second.mp3 22050 22050 -c:a libmp3lame -b:a 16k
tone second-and-one.mp3 22050 22051 -c:a libmp3lame -b:a 16k
tone version-2.5.mp3 8000 16800 -c:a libmp3lame -b:a 8k
tone joint.mp3 44100 22050 -c:a libmp3lame -b:a 64k -ac 2 -joint_stereo 1
tone no-table.mp3 44100 92610 -c:a libmp3lame -q:a 9 -write_xing 0
tone no-table-cbr.mp3 16000 3200 -c:a libmp3lame -b:a 16k -write_xing 0
tone shine.mp3 44100 22050 -c:a libshine -b:a 32k
tone layer-2.mp2 16000 8000 -c:a mp2 -b:a 32k
tone one-sample.mp3 16000 1 -c:a libmp3lame -b:a 16k

# FLAC.
tone tone.flac 8000 16800 -c:a flac -metadata_header_padding 0
tone second.flac 8000 8000 -c:a flac -metadata_header_padding 0
tone second-and-one.flac 8000 8001 -c:a flac -metadata_header_padding 0
tone small-blocks.flac 8000 4001 -c:a flac -metadata_header_padding 0 -frame_size 192
tone odd-rate.flac 11111 5000 -c:a flac -metadata_header_padding 0
tone wide.flac 48000 2400 -c:a flac -metadata_header_padding 0 -sample_fmt s32 -ac 2
tone one-sample.flac 8000 1 -c:a flac -metadata_header_padding 0
ffmpeg "${quiet[@]}" -f lavfi -i "anullsrc=r=44100:cl=mono,atrim=end_sample=1323000" "${plain[@]}" -metadata_header_padding 0 silence.flac
truth silence.flac 44100 1323000

# Ogg.
tone vorbis.ogg 16000 33600 -c:a libvorbis -q:a 0
tone vorbis-second.ogg 16000 16000 -c:a libvorbis -q:a 0
tone vorbis-one.ogg 16000 16001 -c:a libvorbis -q:a 0
says=both tone vorbis-short.ogg 16000 3200 -c:a libvorbis -q:a 0
opus_tone fifth.opus 9600
opus_tone second.opus 48000
opus_tone second-and-one.opus 48001
opus_tone long-frames.opus 100800 -frame_duration 60
opus_tone short-frames.opus 24000 -frame_duration 2.5
opus_tone one-page.opus 100800 -page_duration 10000000
tone flac.oga 16000 16000 -c:a flac -f ogg
tone speex.spx 8000 8000 -c:a libspeex -f ogg

# AAC without a container, which cannot say what the encoder added.
tone adts.aac 16000 33600 -c:a aac -b:a 16k
tone adts-short.aac 16000 3200 -c:a aac -b:a 16k

# MP4 and QuickTime.
says=both tone end.m4a 16000 16000 -c:a aac -b:a 16k
says=both tone faststart.m4a 16000 33600 -c:a aac -b:a 16k -movflags +faststart
says=both tone second-and-one.m4a 16000 16001 -c:a aac -b:a 16k
says=both tone short.m4a 16000 3200 -c:a aac -b:a 16k
says=end tone fragments.mp4 16000 33600 -c:a aac -b:a 16k -movflags +frag_keyframe+empty_moov -frag_duration 500000
says=end tone dash.mp4 16000 16000 -c:a aac -b:a 16k -movflags +frag_keyframe+empty_moov+default_base_moof -frag_duration 300000
tone alac.m4a 16000 5000 -c:a alac
says=both tone opus.mp4 48000 48000 -c:a libopus -b:a 12k
tone flac.mp4 16000 5000 -c:a flac -strict -2
says=both tone mp3.mp4 16000 8000 -c:a libmp3lame -b:a 16k
tone ac3.mp4 48000 9600 -c:a ac3 -b:a 32k
says=both tone aac.mov 16000 16000 -c:a aac -b:a 16k
tone pcm.mov 8000 1601 -c:a pcm_s16le
tone pcm-24.mov 8000 800 -c:a pcm_s24le -ac 2
tone mu-law.mov 8000 1600 -c:a pcm_mulaw
tone float.mov 96000 1200 -c:a pcm_f32le

# Matroska and WebM.
opus_tone opus.webm 100800
opus_tone opus-live.webm 48000 -live 1
opus_tone opus-second.webm 48000
tone vorbis.webm 16000 33600 -c:a libvorbis -q:a 0
tone aac.mka 16000 16000 -c:a aac -b:a 16k
tone mp3.mka 16000 16000 -c:a libmp3lame -b:a 16k
tone flac.mka 16000 5000 -c:a flac -metadata_header_padding 0
tone pcm.mka 8000 1601 -c:a pcm_s16le
tone float.mka 8000 800 -c:a pcm_f32le -ac 2
tone ac3.mka 48000 4800 -c:a ac3 -b:a 32k
tone eac3.mka 48000 4800 -c:a eac3 -b:a 32k
tone alac.mka 16000 5000 -c:a alac

# With pictures, several tracks, or none.
picture="color=c=gray:s=32x32:r=5"
video() {
  local file=$1 samples=$2
  shift 2
  ffmpeg "${quiet[@]}" -f lavfi -i "$picture:d=3" \
    -f lavfi -i "sine=sample_rate=16000,atrim=end_sample=$samples" "${plain[@]}" "$@" "$file"
  truth "$file" 16000 "$samples"
}
says=both video video.mp4 33600 -c:v mpeg4 -c:a aac -b:a 16k
video video.mkv 33600 -c:v mpeg4 -c:a libmp3lame -b:a 16k
video video.mov 2000 -c:v mjpeg -c:a pcm_mulaw
ffmpeg "${quiet[@]}" -f lavfi -i "$picture:d=2" "${plain[@]}" -c:v mpeg4 silent.mp4
ffmpeg "${quiet[@]}" -f lavfi -i "$picture:d=2" "${plain[@]}" -c:v mpeg4 silent.mkv
two=(-f lavfi -i "sine=sample_rate=16000,atrim=end_sample=8000"
  -f lavfi -i "sine=sample_rate=16000,atrim=end_sample=17000")
ffmpeg "${quiet[@]}" "${two[@]}" "${plain[@]}" -map 0 -map 1 -c:a aac -b:a 16k two-tracks.m4a
says=both truth two-tracks.m4a 16000 17000 0:a:1
ffmpeg "${quiet[@]}" "${two[@]}" "${plain[@]}" -map 0 -map 1 -c:a libvorbis -q:a 0 two-tracks.mka
truth two-tracks.mka 16000 17000 0:a:1
ffmpeg "${quiet[@]}" "${two[@]}" "${plain[@]}" -map 0 -map 1 -c:a libvorbis -q:a 0 two-tracks.ogg
truth two-tracks.ogg 16000 17000 0:a:1
